import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { type End, isReachable, podsOf } from "./reachability.ts";
import { EVERYTHING, type Rendered, render } from "./render.ts";

const peers = JSON.parse(readFileSync("deploy/peers.json", "utf8")) as { rpcs: Record<string, { callers: string[] }> };

/** An attacker's pod in the same namespace, and a backend's that may call the signer. */
const pod: End = { name: "pod", labels: { app: "other" } };
const backend: End = { name: "demo-backend", labels: { app: "demo-backend" } };
const ingress: End = {
  name: "ingress",
  labels: { app: "nginx" },
  namespace: { "kubernetes.io/metadata.name": "ingress" },
};
const prometheus: End = { name: "prometheus", labels: {}, namespace: { "kubernetes.io/metadata.name": "monitoring" } };
const dns: End = { name: "dns", labels: {}, namespace: { "kubernetes.io/metadata.name": "kube-system" } };
const internet: End = { name: "internet", address: "198.51.100.7" };
const inside: End = { name: "another server inside", address: "10.0.0.9" };

/** The calls of the table: "gateway auth". */
const calls = new Set(
  Object.entries(peers.rpcs)
    .filter(([rpc]) => !/^(grpc|rpc)\./.test(rpc))
    .flatMap(([rpc, { callers }]) => callers.map((caller) => `${caller} ${rpc.split(".")[0]}`)),
);

function isIntended(from: End, to: End, port: string): boolean {
  if (port === "admin") return from === prometheus;
  if (port === "http") return from === ingress;
  if (port === "https") return from.name === "gateway" && to.name === "auth";
  return calls.has(`${from.name} ${to.name}`);
}

const COLLECTOR = "http://collector.monitoring:4318";

/** Where each process may connect to outside of the chart, by port. */
const OUTSIDE: Record<string, string[]> = {
  gateway: ["dns:53", "internet:443"],
  auth: ["dns:53", "internet:4222", "internet:443", "internet:5432"],
  device: ["dns:53", "internet:4222", "internet:443", "internet:465", "internet:5432", "internet:587"],
  key: ["dns:53", "internet:4222", "internet:5432"],
  account: ["dns:53", "internet:4222", "internet:443", "internet:5432"],
  signer: ["dns:53", "internet:4222", "internet:443", "internet:5432"],
  migrations: ["dns:53", "internet:5432"],
  "nats-set-up": ["dns:53", "internet:4222"],
};
const OUTSIDE_PORTS = [22, 25, 53, 80, 443, 465, 587, 4222, 4318, 5432, 6443];

/** Returns each connection that is possible and not intended, or intended and not possible. */
function differences(objects: readonly Rendered[], policies: readonly Rendered[]): string[] {
  const found: string[] = [];
  const pods = podsOf(objects);
  for (const to of pods) {
    for (const [name, port] of Object.entries(to.ports ?? {})) {
      for (const from of [...pods, pod, backend, ingress, prometheus].filter((each) => each !== to)) {
        const possible = isReachable(policies, from, to, port);
        if (possible !== isIntended(from, to, name))
          found.push(`${from.name} → ${to.name} ${name}: ${possible ? "possible" : "not possible"}`);
      }
    }
  }
  for (const from of pods) {
    const reached = [internet, dns].flatMap((to) =>
      OUTSIDE_PORTS.filter((port) => isReachable(policies, from, to, port)).map((port) => `${to.name}:${port}`),
    );
    if (reached.sort().join() !== OUTSIDE[from.name]?.join()) found.push(`${from.name} reaches ${reached}`);
    if (isReachable(policies, from, inside, 443)) found.push(`${from.name} reaches the cluster's own addresses`);
  }
  return found;
}

describe("reachability", () => {
  let objects: Rendered[];
  let policies: Rendered[];
  beforeAll(() => {
    objects = render(EVERYTHING);
    policies = objects.filter(({ kind }) => kind === "NetworkPolicy");
  });

  it("is what peers.json and the other edges say, and nothing else", () => {
    expect(
      podsOf(objects)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(Object.keys(OUTSIDE).sort());
    expect(differences(objects, policies)).toEqual([]);
  });

  it("of the gateway has no chain nodes where it passes nothing on to them", () => {
    const without = render({ ...EVERYTHING, "secrets.gateway": "" });
    const rules = without.filter(({ kind }) => kind === "NetworkPolicy");
    expect(differences(without, rules)).toEqual(["gateway reaches dns:53"]);
  });

  it("of the signer has no key service where no other vault is configured", () => {
    const without = render({ ...EVERYTHING, "processes.signer.env": {} });
    const rules = without.filter(({ kind }) => kind === "NetworkPolicy");
    expect(differences(without, rules)).toEqual(["signer reaches dns:53,internet:4222,internet:5432"]);
  });

  it("of every process has the collector where there is one", () => {
    const traced = render({ ...EVERYTHING, "traces.endpoint": COLLECTOR });
    const rules = traced.filter(({ kind }) => kind === "NetworkPolicy");
    const found = differences(traced, rules).filter((each) => each.includes("internet:4318"));
    expect(found.map((each) => each.split(" ")[0])).toEqual(["account", "auth", "device", "gateway", "key", "signer"]);
  });

  it.each(["dns", "postgres", "nats", "chain", "providers", "push", "mail", "kms", "traces"])(
    "has no empty rule, which would allow everything, without the destination %s",
    (destination) => {
      const rules = render({
        ...EVERYTHING,
        "traces.endpoint": COLLECTOR,
        [`networkPolicy.destinations.${destination}`]: null,
      })
        .filter(({ kind }) => kind === "NetworkPolicy")
        .flatMap(({ metadata, spec }) => (spec.egress ?? []).map((rule: object | null) => [metadata.name, rule]));
      expect(rules.filter(([, rule]) => !rule?.to)).toEqual([]);
    },
  );

  it("differs when any rule or policy is missing, and when any rule is wider", () => {
    const unnoticed: string[] = [];
    let mutations = 0;
    const mutate = (name: string, change: (copy: Rendered[]) => void) => {
      const copy = structuredClone(policies);
      change(copy);
      mutations += 1;
      if (differences(objects, copy).length === 0) unnoticed.push(name);
    };
    for (const [index, { metadata, spec }] of policies.entries()) {
      // Behind the default deny there is another one in each policy of a process: either alone is enough.
      if (!metadata.name.endsWith("-default-deny")) mutate(`without ${metadata.name}`, (copy) => copy.splice(index, 1));
      for (const side of ["ingress", "egress"]) {
        for (const at of (spec[side] ?? []).keys()) {
          mutate(`${metadata.name} without ${side} ${at}`, (copy) => copy[index]!.spec[side].splice(at, 1));
          mutate(`${metadata.name} with ${side} ${at} for everybody`, (copy) => {
            const rule = copy[index]!.spec[side][at];
            delete rule.from;
            delete rule.to;
          });
        }
      }
    }
    // Egress of a caller and ingress of a callee guard each call twice: a wider egress alone opens nothing.
    const guardedTwice = /with egress \d+ for everybody/;
    expect(unnoticed.filter((name) => !guardedTwice.test(name))).toEqual([]);
    expect(mutations).toBeGreaterThan(80);
  });

  it("differs when a caller is added to the table that the chart renders, or removed", () => {
    const mutated = (rpc: string, callers: string[]) => {
      const table = structuredClone(peers);
      table.rpcs[rpc]!.callers = callers;
      const rendered = render({ ...EVERYTHING, peers: table });
      return differences(
        rendered,
        rendered.filter(({ kind }) => kind === "NetworkPolicy"),
      );
    };
    expect(mutated("signer.v1.Information/Explain", ["gateway", "demo-backend", "key"])).toEqual([
      "key → signer grpc: possible",
    ]);
    expect(mutated("auth.v1.Contacts/ListEmails", ["device"])).toEqual([]);
    expect(mutated("key.v1.Keys/ListKeys", ["auth", "device"])).toContain("device → key grpc: possible");
  });
});
