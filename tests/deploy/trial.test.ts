import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeNetworks } from "@countersign/local-stack/networks.ts";
import { sampleNetwork } from "@countersign/local-stack/testing/sample-network.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { type End, isReachable, podsOf } from "./reachability.ts";
import { CHART, helm, objectsOf, type Rendered, render, TRIAL, TRIAL_VALUES } from "./render.ts";

const trial = objectsOf(readFileSync(TRIAL, "utf8"));
const pod = trial.find(({ kind }) => kind === "Deployment")!.spec.template.spec;
const containers: Rendered[] = [...pod.initContainers, ...pod.containers];

const state = mkdtempSync(join(tmpdir(), "countersign-trial-"));
afterAll(() => rmSync(state, { recursive: true, force: true }));

/** Runs one of the trial's programs with its environment; the state is in a directory of this test. */
function runProgram(name: string): string {
  const variables = containers[0]!.env as { name: string; value: string }[];
  const env = Object.fromEntries(variables.map(({ name, value }) => [name, value.replace(/^\/state/, state)]));
  const program = `packages/local-stack/src/${name}.ts`;
  const own = { ...env, PATH: process.env.PATH, CS_TRIAL_SERVICE: "127.0.0.1" };
  return execFileSync(process.execPath, [program], { env: own, encoding: "utf8" });
}

describe("the servers of a trial", () => {
  it("have the images of this version and of docker-compose.yml", () => {
    const { appVersion } = parse(readFileSync(`${CHART}/Chart.yaml`, "utf8"));
    const { postgres } = parse(readFileSync("docker-compose.yml", "utf8"), { merge: true }).services;
    expect(new Set(containers.map(({ image }) => image))).toEqual(
      new Set([`countersign/local-stack:${appVersion}`, postgres.image]),
    );
  });

  it("run programs that exist, as `restricted` demands and without a token of the API", () => {
    expect(trial[0]).toMatchObject({
      kind: "Namespace",
      metadata: { labels: { "pod-security.kubernetes.io/enforce": "restricted" } },
    });
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    });
    for (const { name, args, securityContext, resources } of containers) {
      expect(securityContext, name).toMatchObject({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      expect(resources).toMatchObject({
        requests: { cpu: expect.any(String) },
        limits: { memory: expect.any(String) },
      });
      for (const file of args.filter((arg: string) => /^(packages|deploy)\//.test(arg)))
        expect(existsSync(file), file).toBe(true);
    }
  });
});

describe("the chart in a trial", () => {
  let objects: Rendered[];
  let secrets: Rendered[];
  beforeAll(() => {
    runProgram("compose/prepare");
    // As the chain's step writes them.
    writeNetworks(join(state, "networks.json"), [sampleNetwork("http://countersign-trial:8888")]);
    writeFileSync(join(state, "signer/keystore.json"), "{}");
    secrets = JSON.parse(runProgram("kubernetes/secrets")).items;
    const values = join(state, "values.json");
    writeFileSync(values, runProgram("kubernetes/values"));
    objects = render({}, [TRIAL_VALUES, values]);
    const files = [TRIAL_VALUES, values].flatMap((file) => ["--values", file]);
    expect(helm("lint", "--strict", "--kube-version", "1.34", CHART, ...files)).toContain("0 chart(s) failed");
  });

  it("mounts the Secrets that the trial makes, and no others", () => {
    const mounted = objects.flatMap(({ spec }) =>
      (spec?.template?.spec?.volumes ?? []).flatMap(({ secret }: Rendered) => secret?.secretName ?? []),
    );
    expect(secrets.map(({ metadata }) => metadata.name).sort()).toEqual([...new Set(mounted)].sort());
    for (const { stringData } of secrets) for (const value of Object.values(stringData)) expect(value).not.toBe("");
  });

  it("names files that it mounts and servers of the trial", () => {
    const data = objects.find(({ kind }) => kind === "ConfigMap")!.data;
    const auth = secrets.find(({ metadata }) => metadata.name === "countersign-auth")!;
    const named = [...data["providers.json"].matchAll(/\/etc\/countersign\/secret\/([\w.-]+)/g)];
    expect(named.map(([, file]) => file)).not.toEqual([]);
    for (const [, file] of named) expect(auth.stringData).toHaveProperty([file!]);
    expect(`${JSON.stringify(data)}${JSON.stringify(secrets)}`).not.toContain(state);
    const [service] = trial.filter(({ kind }) => kind === "Service");
    const addresses = JSON.stringify(secrets).match(/@[\w.-]+:\d+/g) ?? [];
    expect(new Set(addresses)).toEqual(new Set([`@${service!.metadata.name}:5432`]));
  });

  it("has one replica of each process", () => {
    const workloads = objects.filter(({ kind }) => ["Deployment", "StatefulSet"].includes(kind));
    expect(workloads.map(({ spec }) => spec.replicas)).toEqual([1, 1, 1, 1, 1, 1]);
    expect(objects.filter(({ kind }) => kind === "HorizontalPodAutoscaler")).toEqual([]);
  });

  it("reaches the servers that each process needs, and they are reached by nobody else", () => {
    const policies = [...objects, ...trial].filter(({ kind }) => kind === "NetworkPolicy");
    const [server] = podsOf(trial);
    const other: End = { name: "other", labels: { app: "other" } };
    const dns: End = { name: "dns", labels: {}, namespace: { "kubernetes.io/metadata.name": "kube-system" } };
    const internet: End = { name: "internet", address: "198.51.100.7" };
    const inside: End = { name: "inside", address: "10.0.0.9" };
    const ports = [53, 80, 443, 465, 587, 2345, 3569, 4222, 5432, 6443, 8080, 8222, 8888, 9000];
    const reached = (from: End, ends: readonly End[]) =>
      ends.flatMap((to) =>
        ports.filter((port) => isReachable(policies, from, to, port)).map((port) => `${to.name}:${port}`),
      );
    const table = Object.fromEntries(
      [...podsOf(objects), other].map((from) => [from.name, reached(from, [server!, inside])]),
    );
    expect(table).toEqual({
      gateway: ["trial:8888"],
      auth: ["trial:4222", "trial:5432", "trial:9000"],
      device: ["trial:4222", "trial:5432"],
      key: ["trial:4222", "trial:5432"],
      account: ["trial:4222", "trial:5432", "trial:8888"],
      signer: ["trial:4222", "trial:5432"],
      migrations: ["trial:5432"],
      "nats-set-up": ["trial:4222"],
      other: ports.map((port) => `inside:${port}`),
    });
    for (const from of podsOf(objects)) expect(reached(from, [internet, dns]), from.name).toEqual(["dns:53"]);
    expect(reached(server!, [...podsOf(objects), other, dns, internet, inside])).toEqual(["gateway:8080", "dns:53"]);
  });
});
