import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "@countersign/build/fail.ts";
import { root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import { sendTransaction } from "@countersign/client";
import { exportCommit, previousCommit } from "@countersign/local-stack/previous-version.ts";
import { networkOf, signUpPerson, type TestStack } from "@countersign/testing";
import { parseAllDocuments } from "yaml";
import { Checks } from "../checks.ts";
import { collectHostTools } from "../docker/host-tools.ts";
import { apply, clusterDown, clusterEnv, clusterUp, helm, kubectl } from "./cluster.ts";
import { BEFORE, loadImages, NOW } from "./images.ts";
import { type LoadResult, startLoad } from "./load.ts";
import { NAMESPACE, type Outside, startOutside } from "./outside.ts";
import { keepPodLogs, type PodLogs } from "./pod-logs.ts";
import {
  canConnect,
  inNamespace,
  isReady,
  metricOf,
  type Pod,
  PROCESSES,
  podsOf,
  rolledOut,
  waitingPod,
  workloadOf,
} from "./pods.ts";

const CHART = "deploy/helm/countersign";
/** The namespace of deploy/trial. */
const TRIAL = "countersign-trial";
const NOTHING = "transaction { prepare(a: &Account) {} }";

const checks = new Checks();
/** The beginning of this run, by performance.now(). */
const started = performance.now();

/** Steps that run: those whose names contain one of these words. Empty: all. */
let wanted: readonly string[] = [];

/** Runs one step, if it is wanted; `work` returns a text for its line, or throws. */
async function check(name: string, work: () => Promise<string | undefined>): Promise<void> {
  if (wanted.length > 0 && !name.startsWith("installs") && !wanted.some((word) => name.includes(word))) return;
  await checks.run(name, work);
}

async function until(seconds: number, what: string, condition: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + seconds * 1000;
  while (!(await condition())) {
    assert(performance.now() < end, `${what}: not within ${seconds} s`);
    await sleep(500);
  }
}

/** The objects of the chart as they would be created, and pods of its templates: only pods are enforced. */
async function dryRun(values: string): Promise<string> {
  const text = await helm(
    "template",
    "countersign",
    CHART,
    "--namespace",
    NAMESPACE,
    "--values",
    values,
    "--kube-version",
    "1.34",
  );
  const objects = parseAllDocuments(text)
    .map((document) => document.toJS())
    .filter((object) => object?.kind);
  const pods = objects
    .filter(({ spec }) => spec?.template?.spec?.containers)
    .map(({ metadata, spec }) => {
      const { serviceAccountName, ...pod } = spec.template.spec;
      return { apiVersion: "v1", kind: "Pod", metadata: { name: metadata.name, namespace: NAMESPACE }, spec: pod };
    });
  const output = apply([...objects, ...pods], "--dry-run=server", "--namespace", NAMESPACE);
  assert(!/warning/i.test(output), output);
  return `${objects.length} objects and ${pods.length} pods accepted`;
}

const deleteNamespace = (name: string) => kubectl("delete", "namespace", name, "--ignore-not-found", "--wait");

/** Installs a trial as a platform engineer does, plays its demo, and deletes it. */
async function tryOut(): Promise<string> {
  try {
    const begun = performance.now();
    await run(join(root, "deploy/trial/install"), [], { env: clusterEnv });
    const seconds = Math.round((performance.now() - begun) / 1000);
    const demo = "packages/local-stack/src/kubernetes/demo.ts";
    const output = await kubectl("--namespace", TRIAL, "exec", "deployment/countersign-trial", "--", "node", demo);
    const gateway = "deployment/countersign-gateway";
    const open = await Promise.all([8888, 5432].map((port) => canConnect(gateway, "countersign-trial", port, TRIAL)));
    assert(open.join() === "true,false", `the gateway reaches the chain: ${open[0]}, Postgres: ${open[1]}`);
    return `installed in ${seconds} s, ${output.trim().split("\n").at(-1)}`;
  } finally {
    await deleteNamespace(TRIAL);
  }
}

/** Puts the load on the gateway while `work` runs, and a while before and after it. */
async function underLoad(surroundings: TestStack, work: () => Promise<unknown>): Promise<LoadResult> {
  const load = await startLoad(surroundings);
  await sleep(3_000);
  try {
    await work();
    await sleep(5_000);
  } finally {
    await load.stop();
  }
  return load.result();
}

const summary = ({ requests, signUps, transactions, failed }: LoadResult) =>
  `${requests} requests, ${signUps} sign-ups, ${transactions} sealed transactions, ${failed.length} failed`;

/** Fails with the pods' log lines of each failed request. */
function requireNoFailure(result: LoadResult, logs: PodLogs): string {
  const lines = result.failed.slice(0, 8).flatMap(({ at, text, requestId }) => {
    const logged = requestId === "" ? [] : logs.linesWith(requestId);
    return [
      `\n        at ${Math.round((at - started) / 1000)} s ${text}`,
      ...logged.map((line) => `\n          ${line}`),
    ];
  });
  assert(result.failed.length === 0, `${summary(result)}${lines.join("")}`);
  return summary(result);
}

/** Installs the version before, whose files are in `earlier`, and runs every step. */
async function testOn(outside: Outside, logs: PodLogs, earlier: string, directory: string) {
  const now = join(directory, "now.json");
  const before = join(directory, "before.json");
  writeFileSync(now, JSON.stringify(outside.values));
  writeFileSync(before, JSON.stringify({ ...outside.values, image: { tag: BEFORE } }));
  const release = (command: string, chart: string, values: string) =>
    helm(command, "countersign", chart, "--namespace", NAMESPACE, "--values", values, "--wait", "--timeout=8m");

  await check("a server-side dry run passes `restricted`", () => dryRun(now));
  await check("`restricted` refuses a privileged pod", async () => {
    const pod = waitingPod("privileged", {});
    Object.assign(pod.spec.containers[0]!.securityContext, { privileged: true, allowPrivilegeEscalation: true });
    try {
      apply([pod], "--dry-run=server");
    } catch (error) {
      return void assert((error as Error).message.includes("violates PodSecurity"), (error as Error).message);
    }
    throw new Error("it was accepted");
  });
  await check("installs the version before", async () => {
    await release("install", join(earlier, CHART), before);
    const log = await inNamespace("logs", "job/countersign-migrations");
    return `${log.trim().split("\n").length} databases migrated`;
  });

  const address = (
    await inNamespace("get", "service", "countersign-gateway", "--output=jsonpath={.spec.clusterIP}")
  ).trim();
  const { identityProvider, chains } = outside.stack.stack;
  const surroundings: TestStack = { gateway: `http://${address}`, identityProvider, chains };

  const signUpAndSeal = async () => {
    const { client } = await signUpPerson(surroundings);
    return (await sendTransaction(client, { network: networkOf(surroundings), cadence: NOTHING })).id;
  };
  await check("signs up and seals a transaction through the gateway's Service", signUpAndSeal);

  await check("a pod without permission does not reach the signer, one with permission does", async () => {
    apply([waitingPod("other", { app: "other" }), waitingPod("demo-backend", { app: "demo-backend" })]);
    await inNamespace("wait", "--for=condition=Ready", "pod/other", "pod/demo-backend", "--timeout=60s");
    const targets = [
      ["signer", 5005],
      ["signer", 6005],
      ["auth", 5001],
      ["key", 5003],
    ] as const;
    const reached = await Promise.all(
      ["other", "demo-backend"].map(async (pod) => {
        const open: string[] = [];
        for (const [name, port] of targets)
          if (await canConnect(pod, `countersign-${name}`, port)) open.push(`${name}:${port}`);
        return open.join();
      }),
    );
    await inNamespace("delete", "pod", "other", "demo-backend", "--wait=false");
    assert(reached.join(" | ") === " | signer:5005", `reached: ${reached.join(" | ")}`);
    return "signer:5005 for the backend only";
  });

  await check("upgrades every process under load without a failed request", async () =>
    requireNoFailure(
      await underLoad(surroundings, async () => {
        await release("upgrade", CHART, now);
        await rolledOut();
      }),
      logs,
    ),
  );

  // A minute by the times of caches and connections (docs/transport.md), and what DNS needs to name the pod.
  await check("a replica that is added gets load within 90 seconds", async () => {
    const before = new Set((await podsOf()).map(({ metadata }) => metadata.name));
    const seen: string[] = [];
    await underLoad(surroundings, async () => {
      const scaled = [
        ["key", 6003],
        ["signer", 6005],
      ] as const;
      await Promise.all(scaled.map(([name]) => inNamespace("scale", workloadOf(name), "--replicas=3")));
      for (const [name, port] of scaled) {
        const isAdded = (pod: Pod) => !before.has(pod.metadata.name) && isReady(pod);
        await until(120, `third replica of ${name}`, async () => (await podsOf(name)).some(isAdded));
        const added = (await podsOf(name)).find(isAdded)!;
        const readyAt = performance.now();
        const calls = () => metricOf(added, port, "countersign_rpc_server_seconds_count");
        await until(90, `calls of ${added.metadata.name}`, async () => (await calls()) > 0);
        seen.push(`${name} after ${Math.round((performance.now() - readyAt) / 1000)} s`);
      }
    });
    await Promise.all(
      (["key", "signer"] as const).map((name) => inNamespace("scale", workloadOf(name), "--replicas=2")),
    );
    await rolledOut();
    return seen.join(", ");
  });

  await check("without Postgres every pod stays ready, and the gateway answers a problem document", async () => {
    const { client } = await signUpPerson(surroundings);
    await outside.stack.kill("postgres");
    try {
      await sleep(15_000);
      const unready = (await podsOf()).filter((pod) => !isReady(pod)).map(({ metadata }) => metadata.name);
      assert(unready.length === 0, `not ready: ${unready.join()}`);
      const response = await fetch(`${surroundings.gateway}/device/v1/devices`, {
        headers: { authorization: `Bearer ${client.credentials!.accessToken}` },
      });
      const type = response.headers.get("content-type") ?? "";
      assert(response.status === 503 && type.startsWith("application/problem+json"), `${response.status} ${type}`);
    } finally {
      await outside.stack.restart("postgres");
    }
    const works = () =>
      signUpPerson(surroundings).then(
        () => true,
        () => false,
      );
    await until(60, "sign-ups again", works);
    return "503 application/problem+json";
  });

  await check("when half of all pods are killed at once, twice, only requests of that moment fail", async () => {
    const late: string[] = [];
    const kills: number[] = [];
    const result = await underLoad(surroundings, async () => {
      const first = await podsOf();
      const half = PROCESSES.map(
        (name) => first.find(({ metadata }) => metadata.labels["app.kubernetes.io/component"] === name)!,
      );
      const others = first.filter((pod) => !half.includes(pod));
      for (const pods of [half, others]) {
        kills.push(performance.now());
        const names = pods.map(({ metadata }) => metadata.name);
        await inNamespace("delete", "pod", ...names, "--grace-period=1", "--wait=false");
        await sleep(3_000);
        await rolledOut();
        await until(120, "all pods ready", async () => (await podsOf()).every(isReady));
        // The callers must know the new pods before their others end.
        await sleep(30_000);
      }
    });
    const MOMENT_MS = 12_000;
    for (const { at, text } of result.failed) {
      if (!kills.some((kill) => at >= kill && at < kill + MOMENT_MS)) late.push(text);
    }
    assert(late.length === 0, `${summary(result)}; later than ${MOMENT_MS / 1000} s: ${late.slice(0, 5).join("; ")}`);
    return summary(result);
  });

  await check("rolls back under load without a failed request", async () =>
    requireNoFailure(
      await underLoad(surroundings, async () => {
        await helm("rollback", "countersign", "1", "--namespace", NAMESPACE, "--wait", "--timeout=8m");
        await rolledOut();
      }),
      logs,
    ),
  );
  await check("signs up and seals a transaction after the roll-back", signUpAndSeal);
}

export interface TestKubernetesOptions {
  /** Leaves the cluster up. */
  keep: boolean;
  /** Takes the Go servers of the trial from this machine. */
  "host-tools": boolean;
}

/**
 * `npm run test:kubernetes`: a real cluster of one node on this machine, with Postgres, NATS, the chain and
 * the identity provider outside of it. Returns the exit code; the last line has the counts.
 */
export async function testKubernetes(
  { keep, "host-tools": useHostTools }: TestKubernetesOptions,
  words: readonly string[],
): Promise<number> {
  if (process.getuid?.() !== 0) throw new Failure("test:kubernetes needs root: it starts a container runtime.");
  const directory = mkdtempSync(join(tmpdir(), "countersign-kubernetes-"));
  wanted = words;
  const commit = await previousCommit();
  const earlier = join(directory, "earlier");
  let outside: Outside | undefined;
  let logs: PodLogs | undefined;
  try {
    await exportCommit(commit, earlier);
    await clusterUp();
    await loadImages(earlier, useHostTools ? await collectHostTools(directory) : undefined);
    for (const namespace of [NAMESPACE, TRIAL]) await deleteNamespace(namespace);
    await check("a trial by deploy/trial/install signs up and seals a transaction", tryOut);
    const labels = {
      "pod-security.kubernetes.io/enforce": "restricted",
      "pod-security.kubernetes.io/warn": "restricted",
    };
    apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE, labels } }]);
    outside = await startOutside(join(directory, "state"), NOW);
    apply(outside.secrets);
    console.log(`upgrade from ${commit.slice(0, 8)} to the working tree`);
    logs = keepPodLogs();
    await testOn(outside, logs, earlier, directory);
  } finally {
    logs?.stop();
    await outside?.stop();
    if (!keep) await clusterDown();
    rmSync(directory, { recursive: true, force: true });
  }
  console.log(`${checks.passed} passed, ${checks.failed} failed`);
  return checks.failed === 0 && checks.passed > 0 ? 0 : 1;
}
