import { existsSync } from "node:fs";
import { NODE_FLAGS } from "@countersign/runtime/node-flags.ts";
import { describe, expect, it } from "vitest";
import { EVERYTHING, lint, type Rendered, render, renderText } from "./render.ts";

const ofKind = (objects: readonly Rendered[], kind: string) => objects.filter((object) => object.kind === kind);
const workloads = (objects: readonly Rendered[]) =>
  objects.filter(({ kind }) => ["Deployment", "StatefulSet", "Job"].includes(kind));

describe("the chart", () => {
  it.each([
    ["the defaults", {}],
    ["everything", EVERYTHING],
    [
      "no optional part",
      {
        "networkPolicy.enabled": false,
        "certificates.certManager.enabled": false,
        "nats.setUp": false,
        "migrations.enabled": false,
      },
    ],
  ])("passes helm lint with %s", (_name, values) => {
    expect(lint(values)).toContain("0 chart(s) failed");
  });

  it("refuses unknown and wrong values", () => {
    expect(() => renderText({ "processes.gateway.replica": 3 })).toThrow(/replica/);
    expect(() => renderText({ "networkPolicy.enable": true })).toThrow(/enable/);
    expect(() => renderText({ "termination.drainSeconds": 5 })).toThrow(/drainSeconds/);
    expect(() => renderText({ issuer: "api.example.com" })).toThrow(/issuer/);
    // In a policy, an empty list of destinations allows all of them.
    expect(() => renderText({ "networkPolicy.destinations.postgres.to": [] })).toThrow(/postgres/);
    for (const partitions of [0, 65, 2.5, true])
      expect(() => renderText({ "nats.partitions": partitions })).toThrow(/partitions/);
  });

  it("refuses an edge without trusted proxies, behind which all clients would share one address' limits", () => {
    const proxies = "processes.gateway.env.GATEWAY_TRUSTED_PROXIES";
    for (const edge of [{ "ingress.enabled": true }, { "gatewayApi.enabled": true, "gatewayApi.className": "a" }]) {
      expect(() => renderText(edge)).toThrow(/GATEWAY_TRUSTED_PROXIES/);
      expect(() => renderText({ ...edge, [proxies]: "" })).toThrow(/GATEWAY_TRUSTED_PROXIES/);
      expect(ofKind(render({ ...edge, [proxies]: "10.0.0.0/8" }), "Deployment")).toHaveLength(5);
    }
  });

  it("runs programs that exist, as `restricted` demands and without a token of the API", () => {
    for (const { metadata, spec } of workloads(render(EVERYTHING))) {
      const pod = spec.template.spec;
      expect(pod, metadata.name).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
      });
      for (const container of [...pod.containers, ...(pod.initContainers ?? [])]) {
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        });
      }
      const [{ name, args, resources }] = pod.containers;
      const flags: readonly string[] = NODE_FLAGS[name as keyof typeof NODE_FLAGS] ?? [];
      const own = flags.filter((flag) => !NODE_FLAGS.signer.includes(flag as never));
      expect(args.slice(0, -1), "the flags that the image does not have").toEqual(own);
      expect(args.at(-1) === "deploy" || existsSync(args.at(-1)), args.at(-1)).toBe(true);
      expect(resources).toMatchObject({
        requests: { cpu: expect.any(String) },
        limits: { memory: expect.any(String) },
      });
    }
  });

  it("lets a pod finish the longest request after the last request that reaches it", () => {
    for (const { metadata, spec } of workloads(render()).filter(({ kind }) => kind !== "Job")) {
      const { containers, terminationGracePeriodSeconds } = spec.template.spec;
      const [{ env, lifecycle, startupProbe, readinessProbe, livenessProbe }] = containers;
      const drainSeconds = Number(env.find(({ name }: { name: string }) => name === "CS_DRAIN_MS").value) / 1000;
      const endpointSeconds = lifecycle.preStop.sleep.seconds;
      expect(endpointSeconds, metadata.name).toBeGreaterThan(5);
      expect(drainSeconds).toBeGreaterThan(25);
      // The process ends by itself 5 s after its drain time.
      expect(terminationGracePeriodSeconds).toBeGreaterThan(endpointSeconds + drainSeconds + 5);
      expect(startupProbe.httpGet.path).toBe("/startupz");
      expect(readinessProbe.httpGet.path).toBe("/readyz");
      expect(livenessProbe.httpGet.path).toBe("/livez");
    }
  });

  it("gives every process the collector of traces where there is one", () => {
    const endpoint = "http://collector.monitoring:4318";
    const objects = render({ "traces.endpoint": endpoint, "traces.ratio": 0.25 });
    const services = workloads(objects).filter(({ kind }) => kind !== "Job");
    expect(services).toHaveLength(6);
    for (const { spec } of services) {
      const { env } = spec.template.spec.containers[0];
      expect(env).toContainEqual({ name: "OTEL_EXPORTER_OTLP_ENDPOINT", value: endpoint });
      expect(env).toContainEqual({ name: "OTEL_TRACES_SAMPLER_ARG", value: "0.25" });
    }
  });

  it("writes numbers of the values as processes read them, also large and small ones", () => {
    const [signer] = workloads(
      render({
        "processes.signer.env": { SIGNER_TIME_LOCK_CONTEST_SECONDS: 2592000, SIGNER_LIMIT_SCALE: 1.5, SIGNER_X: "<a>" },
        "traces.endpoint": "http://collector.monitoring:4318",
        "traces.ratio": 0.00005,
      }),
    ).filter(({ metadata }) => metadata.name === "countersign-signer");
    const { env } = signer!.spec.template.spec.containers[0];
    expect(env).toContainEqual({ name: "SIGNER_TIME_LOCK_CONTEST_SECONDS", value: "2592000" });
    expect(env).toContainEqual({ name: "SIGNER_LIMIT_SCALE", value: "1.5" });
    expect(env).toContainEqual({ name: "SIGNER_X", value: "<a>" });
    expect(env).toContainEqual({ name: "OTEL_TRACES_SAMPLER_ARG", value: "0.00005" });
  });

  it("gives the number of partitions to the set-up of NATS, from which services learn it", () => {
    const found = workloads(render({ "nats.partitions": 16 })).flatMap(({ kind, spec }) =>
      spec.template.spec.containers[0].env
        .filter(({ name }: { name: string }) => name === "CS_NATS_PARTITIONS")
        .map(({ value }: { value: string }) => [kind, value]),
    );
    expect(found).toEqual([["Job", "16"]]);
  });

  it("gives each process the addresses of those that it calls, and its own Secret only", () => {
    const objects = render();
    const [gateway] = workloads(objects).filter(({ metadata }) => metadata.name === "countersign-gateway");
    const environment = Object.fromEntries(
      gateway!.spec.template.spec.containers[0].env.map(({ name, value }: { name: string; value: string }) => [
        name,
        value,
      ]),
    );
    expect(environment).toMatchObject({
      GATEWAY_LISTEN: "0.0.0.0:8080",
      CS_SIGNER_ADDRESS: "countersign-signer:5005",
      CS_AUTH_HTTP_ADDRESS: "countersign-auth:5101",
    });
    expect(environment).not.toHaveProperty("CS_NATS_URL");
    expect(environment).not.toHaveProperty("OTEL_EXPORTER_OTLP_ENDPOINT");
    const secretsOf = ({ spec }: Rendered) =>
      spec.template.spec.volumes.flatMap(({ secret }: { secret?: { secretName: string } }) => secret?.secretName ?? []);
    expect(Object.fromEntries(workloads(objects).map((each) => [each.metadata.name, secretsOf(each)]))).toEqual({
      "countersign-gateway": ["countersign-gateway-tls"],
      "countersign-auth": ["countersign-auth-tls", "countersign-auth"],
      "countersign-device": ["countersign-device-tls", "countersign-device"],
      "countersign-key": ["countersign-key-tls", "countersign-key"],
      "countersign-account": ["countersign-account-tls", "countersign-account"],
      "countersign-signer": ["countersign-signer-tls", "countersign-signer"],
      "countersign-migrations": ["countersign-migrations"],
      "countersign-nats-set-up": ["countersign-operator-tls"],
    });
    expect(ofKind(objects, "Secret")).toEqual([]);
  });

  it("restarts nothing when configuration or policy changes: processes take changed files", () => {
    const pods = (values: Record<string, unknown>) => workloads(render(values)).map(({ spec }) => spec.template);
    expect(pods({ networks: [{ chainName: "flow-mainnet" }], providers: [{ name: "a" }] })).toEqual(pods({}));
    expect(pods({ policy: { version: "1" } })).toEqual(pods({ policy: { version: "2" } }));
    expect(pods({ logLevel: "debug" })).not.toEqual(pods({}));
  });

  it("mounts secrets and configuration as directories, which Kubernetes keeps up to date", () => {
    const mounts = workloads(render()).flatMap(({ spec }) =>
      spec.template.spec.containers.flatMap(({ volumeMounts = [] }: { volumeMounts?: object[] }) => volumeMounts),
    );
    expect(mounts.length).toBeGreaterThan(10);
    expect(mounts.filter((mount) => "subPath" in mount)).toEqual([]);
  });

  it("spreads, disrupts and scales each process by itself", () => {
    const objects = render();
    expect(ofKind(objects, "PodDisruptionBudget")).toHaveLength(6);
    expect(ofKind(objects, "HorizontalPodAutoscaler").map(({ metadata }) => metadata.name)).not.toContain(
      "countersign-signer",
    );
    const deployments = workloads(objects).filter(({ kind }) => kind === "Deployment");
    for (const { spec } of deployments) expect(spec).not.toHaveProperty("replicas");
    const [signer] = ofKind(objects, "StatefulSet");
    expect(signer!.spec).toMatchObject({ replicas: 2, volumeClaimTemplates: [{ metadata: { name: "checkpoints" } }] });
    const headless = ofKind(objects, "Service").filter(({ spec }) => spec.clusterIP === "None");
    expect(headless.map(({ metadata }) => metadata.name).sort()).toEqual(
      ["account", "auth", "device", "key", "signer"].map((name) => `countersign-${name}`),
    );
  });

  it("serves TLS at the edge, by Ingress and by Gateway API", () => {
    const objects = render(EVERYTHING);
    expect(ofKind(objects, "Ingress")[0]!.spec.tls).toEqual([
      { hosts: ["api.example.com"], secretName: "countersign-public-tls" },
    ]);
    expect(ofKind(objects, "Gateway")[0]!.spec.listeners[0]).toMatchObject({
      protocol: "HTTPS",
      tls: { mode: "Terminate" },
    });
    expect(ofKind(objects, "HTTPRoute")).toHaveLength(1);
    const own = render({
      "gatewayApi.enabled": true,
      "gatewayApi.parentRefs": [{ name: "shared", namespace: "edge" }],
      "processes.gateway.env": { GATEWAY_TRUSTED_PROXIES: "10.0.0.0/8" },
    });
    expect(ofKind(own, "Gateway")).toEqual([]);
  });

  it("requests a certificate for every process, the operator, the named backends and administrators", () => {
    const names = ofKind(render(EVERYTHING), "Certificate").map(({ spec }) => spec.dnsNames.join());
    expect(names.sort()).toEqual(
      ["account", "admin", "auth", "demo-backend", "device", "gateway", "key", "operator", "signer"].map(
        (name) => `${name}.countersign.internal`,
      ),
    );
    const [admin] = ofKind(render(EVERYTHING), "Certificate").filter(({ spec }) => spec.uris);
    expect(admin!.spec).toMatchObject({
      dnsNames: ["admin.countersign.internal"],
      uris: ["countersign:person:ada"],
      usages: ["digital signature", "client auth"],
      duration: "168h",
    });
  });
});
