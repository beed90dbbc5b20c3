import { execFileSync } from "node:child_process";
import { parseAllDocuments } from "yaml";

export const CHART = "deploy/helm/countersign";
/** The servers of a trial, and the chart's values for them. */
export const TRIAL = "deploy/trial/trial.yaml";
export const TRIAL_VALUES = "deploy/trial/values.yaml";

/** A Kubernetes object, as the chart renders it. */
export interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels: Record<string, string>;
    annotations?: Record<string, string>;
  };
  // biome-ignore lint/suspicious/noExplicitAny: the schemas of Kubernetes are checked by schemas.test.ts
  readonly [field: string]: any;
}

/** Runs helm and returns its output. Errors: what helm prints. */
export function helm(...args: string[]): string {
  const program = process.env.CS_HELM;
  if (!program) throw new Error("CS_HELM is not set: run `npm run check:deploy`");
  return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/** Values beside the defaults, as `--set-json` takes them: {"ingress.enabled": true}. */
export type Values = Record<string, unknown>;

const set = (values: Values) =>
  Object.entries(values).flatMap(([name, value]) => ["--set-json", `${name}=${JSON.stringify(value)}`]);

/** Returns the chart's objects in YAML. `files` are files of values. */
export const renderText = (values: Values = {}, files: readonly string[] = []): string =>
  helm(
    ...["template", "countersign", CHART, "--namespace", "countersign", "--kube-version", "1.34"],
    ...files.flatMap((file) => ["--values", file]),
    ...set(values),
  );

/** Returns the objects of a text in YAML. */
export const objectsOf = (text: string): Rendered[] =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as Rendered | null)
    .filter((object) => object !== null);

/** Returns the chart's objects. */
export const render = (values: Values = {}, files: readonly string[] = []): Rendered[] =>
  objectsOf(renderText(values, files));

export const lint = (values: Values = {}): string =>
  helm("lint", "--strict", "--kube-version", "1.34", CHART, ...set(values));

/** Everything that is off by default, on. */
export const EVERYTHING: Values = {
  "ingress.enabled": true,
  "ingress.className": "nginx",
  "gatewayApi.enabled": true,
  "gatewayApi.className": "example",
  "podMonitor.enabled": true,
  "prometheusRule.enabled": true,
  "prometheusRule.labels": { release: "prometheus" },
  "dashboards.enabled": true,
  policy: { version: "1" },
  "secrets.gateway": "countersign-gateway",
  networks: [{ chainName: "flow-mainnet" }],
  "certificates.backends": ["demo-backend"],
  "certificates.administrators": ["ada"],
  "networkPolicy.backends": { "demo-backend": [{ podSelector: { matchLabels: { app: "demo-backend" } } }] },
  "networkPolicy.metricsFrom": [
    { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "monitoring" } } },
  ],
  "networkPolicy.gatewayFrom": [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "ingress" } } }],
  "checkpoints.storageClassName": "emptyDir",
  "processes.gateway.env": { GATEWAY_TRUSTED_PROXIES: "10.0.0.0/8" },
  "processes.signer.env": { SIGNER_VAULTS_FILE: "/etc/countersign/secret/vaults.json" },
  "processes.auth.sidecars": [{ name: "proxy", image: "proxy:1" }],
  "image.pullSecrets": ["registry"],
  hostAliases: [{ ip: "10.0.0.5", hostnames: ["nats.countersign.internal"] }],
  "image.service.digest": `sha256:${"0".repeat(64)}`,
};
