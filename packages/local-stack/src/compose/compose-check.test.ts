import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root, services as serviceNames } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import { writeNetworks } from "@countersign/local-stack/networks.ts";
import { baseEnvironment, serviceEnvironment } from "@countersign/local-stack/service-environment.ts";
import { sampleNetwork } from "@countersign/local-stack/testing/sample-network.ts";
import { type Env, sharedEnv } from "@countersign/runtime";
import { HEAP_OPTIONS, NODE_FLAGS } from "@countersign/runtime/node-flags.ts";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadConfig as loadGateway } from "../../../../gateway/src/config.ts";
import { loadConfig as loadAccount } from "../../../../services/account/src/config.ts";
import { loadConfig as loadAuth } from "../../../../services/auth/src/config.ts";
import { loadConfig as loadDevice } from "../../../../services/device/src/config.ts";
import { loadConfig as loadKey } from "../../../../services/key/src/config.ts";
import { loadConfig as loadSigner } from "../../../../services/signer/src/config.ts";
import { type ComposeService, namesOf, readComposeFile, startOrder } from "../testing/compose-file.ts";

const compose = readComposeFile();
const { services } = compose;
const all = Object.entries(services);
const programs = [...serviceNames, "gateway"] as const;
const oneShot = all.filter(([, service]) => service.restart === undefined).map(([name]) => name);

/** Returns the volumes of a service as [volume, path, writable]. */
const mounts = (service: ComposeService) =>
  (service.volumes ?? []).map((text) => {
    const [volume = "", path = "", mode] = text.split(":");
    return { volume, path, writable: mode !== "ro" };
  });

const texts = (service: ComposeService): string[] => [
  ...service.command,
  ...Object.values(service.environment ?? {}),
  ...(service.healthcheck?.test ?? []),
];

describe("docker-compose.yml", () => {
  it("fits the schema of the Compose Specification", () => {
    const schema = JSON.parse(readFileSync(join(root, "packages/local-stack/schemas/compose-spec.json"), "utf8"));
    const validate = new Ajv2020({ strict: false, validateFormats: false, allErrors: true }).compile(schema);
    expect(validate(compose) ? [] : validate.errors).toEqual([]);
    expect(validate({ services: { x: { image: 1 } } })).toBe(false);
  });

  it("can start: nobody waits for each other, or for a health that is not checked, or for an end that does not come", () => {
    const order = startOrder(services);
    expect(order.toSorted()).toEqual(Object.keys(services).toSorted());
    for (const [name, { depends_on: needs = {} }] of all) {
      for (const [needed, { condition }] of Object.entries(needs)) {
        const where = `${name} needs ${needed}`;
        expect(services, where).toHaveProperty(needed);
        if (condition === "service_healthy") expect(services[needed]?.healthcheck, where).toBeDefined();
        expect(condition === "service_completed_successfully", where).toBe(oneShot.includes(needed));
      }
    }
    expect(oneShot.toSorted()).toEqual(["chain", "databases", "events", "set-up"]);
  });

  it("starts each program as the local stack does", () => {
    for (const name of programs) {
      const entry = name === "gateway" ? "gateway/src/main.ts" : `services/${name}/src/main.ts`;
      const own = NODE_FLAGS[name].filter((flag) => !NODE_FLAGS.signer.includes(flag as never));
      expect(services[name]).toMatchObject({ image: "countersign/service", command: [...own, entry] });
    }
  });

  it("names networks and volumes that it defines, each volume used", () => {
    const used = new Set<string>();
    for (const [name, service] of all) {
      const { networks = [] } = service;
      for (const network of Array.isArray(networks) ? networks : Object.keys(networks))
        expect(compose.networks, name).toHaveProperty(network);
      for (const { volume } of mounts(service)) {
        expect(Object.keys(compose.volumes), name).toContain(volume);
        used.add(volume);
      }
    }
    expect([...used].toSorted()).toEqual(Object.keys(compose.volumes).toSorted());
  });

  it.each(all)("%s: an unprivileged user, a read-only root, no way to more rights", (_, service) => {
    expect(service).toMatchObject({ read_only: true, cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] });
    // Without a user here it is the image's, which the Dockerfile's check reads.
    if (service.user === undefined) expect(service.image).toMatch(/^countersign\//);
    else expect(service.user).toBe("postgres");
    expect(JSON.stringify(service)).not.toMatch(/privileged":true|docker\.sock|"host"/);
  });

  it("publishes the gateway and the identity provider, on loopback, and nothing else", () => {
    const ports = Object.fromEntries(all.flatMap(([name, { ports: open }]) => (open ? [[name, open]] : [])));
    expect(ports).toEqual({ gateway: ["127.0.0.1:8080:8080"], "identity-provider": ["127.0.0.1:9000:9000"] });
    expect(compose.networks.inside).toEqual({ internal: true });
    const outside = all.filter(([, { networks }]) => JSON.stringify(networks ?? []).includes("edge"));
    expect(outside.map(([name]) => name).toSorted()).toEqual(["gateway", "identity-provider"]);
  });

  it("gives no secret by its value, and each process only its own files", () => {
    for (const [name, service] of all) {
      for (const [variable, value] of Object.entries(service.environment ?? {})) {
        if (/PASSWORD|SECRET|PASSPHRASE|PRIVATE|DATABASE_URL/.test(variable)) expect(variable, value).toMatch(/_FILE$/);
      }
      if (name === "set-up") continue;
      const readable = mounts(service).map(({ volume }) => volume);
      expect(readable, name).not.toContain("set-up");
      const others = programs.filter((other) => other !== name && readable.includes(other));
      expect(others, name).toEqual(name === "chain" ? ["signer"] : []);
    }
    for (const name of programs)
      expect(
        mounts(services[name]!).flatMap(({ volume, writable }) => (writable ? [volume] : [])),
        name,
      ).toEqual(name === "signer" ? ["signer-audit"] : []);
  });

  it.each(all)("%s: every file and directory that it names is there", (name, service) => {
    // The first step writes other processes' settings, which name their places.
    const own = name === "set-up" ? Object.values(services) : [service];
    const places = own.flatMap(mounts).map(({ path }) => path);
    for (const text of texts(service)) {
      if (text.startsWith("/state/"))
        expect(
          places.some((place) => `${text}/`.startsWith(`${place}/`)),
          text,
        ).toBe(true);
      const file = /^(?:\/app\/)?((?:packages|services|gateway|deploy)\/.+\.\w+)$/.exec(text)?.[1];
      if (file) expect(existsSync(join(root, file)), text).toBe(true);
    }
    if (service.image === "countersign/local-stack") expect(["node", "nats-server"]).toContain(service.command[0]);
  });

  it("dials names and ports that somebody has", () => {
    const listening = new Map<string, Set<string>>([
      ["postgres", new Set(["5432"])],
      ["nats", new Set(["4222"])],
      ["identity-provider", new Set(["9000"])],
    ]);
    for (const [name, service] of all) {
      const ports = Object.entries(service.environment ?? {}).flatMap(([variable, value]) =>
        /LISTEN$/.test(variable) && value.startsWith("0.0.0.0:") ? [value.slice("0.0.0.0:".length)] : [],
      );
      if (name !== "set-up") listening.set(name, new Set([...(listening.get(name) ?? []), ...ports]));
    }
    const hosts = new Map(
      all.flatMap(([name, service]) => namesOf(name, service).map((host) => [host, name] as const)),
    );
    // A container that shares another's network loses it when that one starts again.
    expect(all.filter(([, { network_mode: mode }]) => mode?.includes(":"))).toEqual([]);
    for (const [name, service] of all) {
      for (const [variable, value] of Object.entries(service.environment ?? {})) {
        const [, host = "", port = ""] = /^(?:\w+:\/\/)?([\w.-]+):(\d+)$/.exec(value) ?? [];
        if (!host || /^(0\.0\.0\.0|127\.0\.0\.1|localhost)$/.test(host)) continue;
        const target = hosts.get(host);
        expect(target, `${name} ${variable}=${value}`).toBeDefined();
        expect([...(listening.get(target!) ?? [])], `${name} ${variable}=${value}`).toContain(port);
      }
    }
  });
});

describe("deploy/Dockerfile", () => {
  const text = readFileSync(join(root, "deploy/Dockerfile"), "utf8");
  const stage = (name: string) =>
    text.split(/^FROM /m).find((each) => each.split("\n")[0]?.endsWith(` AS ${name}`)) ?? "";

  it("builds every image that docker-compose.yml names", () => {
    const built = all.flatMap(([, { build, image }]) => (build ? [[image, build.target]] : []));
    expect(built).toEqual([
      ["countersign/local-stack", "local-stack"],
      ["countersign/service", "service"],
    ]);
  });

  it.each(["service", "migrate", "local-stack"])("%s runs as an unprivileged user, by its number", (name) => {
    expect(stage(name)).toMatch(/^base AS /);
    expect(stage(name).match(/^USER .*$/gm)).toEqual(["USER 10001:10001"]);
  });

  it("uses the versions that the checkout pins", () => {
    const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    expect(text).toContain(`ARG NODE_IMAGE=node:${devDependencies.node}-bookworm-slim\n`);
    const go = /^go (\d+\.\d+)/m.exec(readFileSync(join(root, "dev/tools/go.mod"), "utf8"))?.[1];
    expect(text).toContain(`ARG GO_IMAGE=golang:${go}-bookworm\n`);
  });

  it("gives V8 and malloc what the local stack gives them, and Node the flags of the signer", () => {
    expect(stage("base")).toContain(`NODE_OPTIONS="${HEAP_OPTIONS.join(" ")}"`);
    const malloc = Object.entries(baseEnvironment()).filter(([name]) => name.startsWith("MALLOC_"));
    expect(malloc).toHaveLength(2);
    for (const [name, value] of malloc) expect(stage("base").split(/\s/)).toContain(`${name}=${value}`);
    const entry = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(stage("service"))![1]!);
    expect(entry).toEqual(["node", ...NODE_FLAGS.signer]);
  });
});

describe("the environment of each process", () => {
  const state = mkdtempSync(join(tmpdir(), "countersign-compose-"));
  const moved = (value: string) => value.replace(/^\/state\b/, state).replace(/^\/app\b/, root);
  const environment = (name: string): Record<string, string> =>
    Object.fromEntries(Object.entries(services[name]?.environment ?? {}).map(([key, value]) => [key, moved(value)]));
  afterAll(() => rmSync(state, { recursive: true, force: true }));

  // The step's own program makes the files, so that what it writes is what the services read.
  beforeAll(async () => {
    for (const { path } of mounts(services["set-up"]!)) mkdirSync(moved(path), { recursive: true });
    const env = { ...environment("set-up"), PATH: process.env.PATH };
    const program = join(root, "packages/local-stack/src/compose/prepare.ts");
    await run(process.execPath, [program], { env });
    await run(process.execPath, [program], { env });
    mkdirSync(join(state, "networks"), { recursive: true });
    writeNetworks(join(state, "networks/networks.json"), [sampleNetwork(environment("chain").CS_FLOW_ACCESS_NODE!)]);
  }, 30_000);

  const loaders: Record<string, (env: Env) => unknown> = {
    auth: loadAuth,
    device: loadDevice,
    key: loadKey,
    account: loadAccount,
    signer: loadSigner,
    gateway: loadGateway,
  };

  it.each(programs)("%s: its configuration takes exactly this", async (name) => {
    const env = environment(name);
    expect(() => loaders[name]!(env)).not.toThrow();
    // Every variable that is left out is reported as missing, or is one of the few with a default.
    const inDev = await serviceEnvironment(name, 0, {
      stateDir: state,
      replicas: [{} as never],
      gateway: "http://localhost:8080",
      natsUrl: "nats://127.0.0.1:4222",
      networksFile: join(state, "networks/networks.json"),
      databaseUrl: () => "postgresql://x@127.0.0.1:1/x",
    });
    const unknown = Object.keys(env).filter((key) => !(key.replace(/_DATABASE_URL_FILE$/, "_DATABASE_URL") in inDev));
    expect(unknown).toEqual([]);
    for (const [key, setting] of Object.entries(sharedEnv.shape)) {
      if (!setting.safeParse(undefined).success) expect(env, key).toHaveProperty(key);
    }
  });

  it.each(programs)("%s: every file that its environment names was made", (name) => {
    for (const [variable, value] of Object.entries(environment(name))) {
      // The chain's step makes the keystore, the signer its checkpoints.
      const later = ["SIGNER_KEYSTORE_FILE", "SIGNER_AUDIT_CHECKPOINT_FILE"].includes(variable);
      if (value.startsWith("/") && !later) expect(existsSync(value), value).toBe(true);
    }
  });

  it("no process has another's key", () => {
    const keys = programs.map((name) => readFileSync(join(state, name, "key.pem"), "utf8"));
    expect(new Set(keys).size).toBe(programs.length);
    expect(existsSync(join(state, "set-up/tls/ca.key"))).toBe(true);
  });
});
