import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type End, isReachable, podsOf } from "./reachability.ts";
import { CHART, type Rendered, render } from "./render.ts";

const directory = mkdtempSync(join(tmpdir(), "countersign-restore-pods-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe("the pods for a restore, by the commands of the chart's README", () => {
  const objects = render();
  const pods = new Map<string, Rendered>();
  beforeAll(() => {
    // Answers with the chart's objects, and keeps what is applied.
    writeFileSync(
      join(directory, "kubectl"),
      `#!/bin/sh\ncase $1 in get) cat "${directory}/$2-$3.json" ;; apply) jq -c . >> "${directory}/applied" ;; esac\n`,
    );
    chmodSync(join(directory, "kubectl"), 0o755);
    for (const { kind, metadata, ...rest } of objects)
      writeFileSync(join(directory, `${kind.toLowerCase()}-${metadata.name}.json`), JSON.stringify({ kind, ...rest }));
    const blocks = [...readFileSync(join(CHART, "README.md"), "utf8").matchAll(/```sh\n([^`]*)```/g)];
    const commands = blocks.find(([, text]) => text!.includes("pod() {"))![1]!.split("kubectl exec")[0]!;
    const env = { ...process.env, PATH: `${directory}:${process.env.PATH}` };
    execFileSync("bash", ["-euo", "pipefail", "-c", commands], { env, stdio: "pipe" });
    for (const line of readFileSync(join(directory, "applied"), "utf8").trim().split("\n")) {
      const pod = JSON.parse(line) as Rendered;
      pods.set(pod.metadata.name.replace("restore-", ""), pod);
    }
  });

  it("wait for commands, with the settings and files of their services", () => {
    expect([...pods.keys()]).toEqual(["auth", "device", "key", "account", "signer", "nats-set-up"]);
    for (const [name, { spec }] of pods) {
      const workload = objects.find(
        ({ kind, metadata }) => metadata.name === `countersign-${name}` && /Deployment|StatefulSet|Job/.test(kind),
      );
      const [container] = spec.containers;
      const [{ env, image, securityContext }] = workload!.spec.template.spec.containers;
      expect(container).toMatchObject({ env, image, securityContext, command: ["sleep", "infinity"] });
      for (const field of ["args", "startupProbe", "livenessProbe", "lifecycle"])
        expect(container).not.toHaveProperty(field);
      // Never ready, so that no service calls it.
      expect(container.readinessProbe === undefined).toBe(name === "nats-set-up");
      const mounted = container.volumeMounts.map((each: { name: string }) => each.name);
      expect(spec.volumes.map((each: { name: string }) => each.name).sort()).toEqual(mounted.sort());
    }
  });

  it("reach what their services reach", () => {
    const policies = objects.filter(({ kind }) => kind === "NetworkPolicy");
    const internet: End = { name: "internet", address: "198.51.100.7" };
    const reached = (from: End) => [443, 4222, 5432].filter((port) => isReachable(policies, from, internet, port));
    for (const service of podsOf(objects).filter(({ name }) => pods.has(name)))
      expect(reached({ name: service.name, labels: pods.get(service.name)!.metadata.labels })).toEqual(
        reached(service),
      );
  });
});
