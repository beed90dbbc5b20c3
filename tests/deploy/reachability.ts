import type { Rendered } from "./render.ts";

type Labels = Record<string, string>;

interface Selector {
  matchLabels?: Labels;
  matchExpressions?: { key: string; operator: "In"; values: string[] }[];
}

interface Peer {
  podSelector?: Selector;
  namespaceSelector?: Selector;
  ipBlock?: { cidr: string; except?: string[] };
}

interface Rule {
  from?: Peer[];
  to?: Peer[];
  ports?: { port: number | string; protocol?: string }[];
}

/** One end of a connection: a pod of the release's namespace, a pod of another one, or an IPv4 address. */
export interface End {
  readonly name: string;
  readonly labels?: Labels;
  readonly namespace?: Labels;
  /** Numbers of ports by name. */
  readonly ports?: Record<string, number>;
  readonly address?: string;
}

const matches = (selector: Selector | undefined, labels: Labels) =>
  Object.entries(selector?.matchLabels ?? {}).every(([key, value]) => labels[key] === value) &&
  (selector?.matchExpressions ?? []).every(({ key, values }) => values.includes(labels[key] ?? ""));

const bits = (address: string) => address.split(".").reduce((number, part) => number * 256 + Number(part), 0);

function isIn(cidr: string, address: string): boolean {
  const [network = "", length] = cidr.split("/");
  const size = 2 ** (32 - Number(length));
  return Math.floor(bits(network) / size) === Math.floor(bits(address) / size);
}

function isPeer({ podSelector, namespaceSelector, ipBlock }: Peer, end: End): boolean {
  if (ipBlock) {
    if (end.address === undefined || !isIn(ipBlock.cidr, end.address)) return false;
    return !(ipBlock.except ?? []).some((cidr) => isIn(cidr, end.address!));
  }
  if (end.labels === undefined) return false;
  const isNamespace = namespaceSelector
    ? end.namespace !== undefined && matches(namespaceSelector, end.namespace)
    : end.namespace === undefined;
  return isNamespace && (podSelector === undefined || matches(podSelector, end.labels));
}

/** Returns whether a rule's ports contain this one. `target`: the pod whose ports have names. */
const hasPort = ({ ports }: Rule, port: number, target: End) =>
  ports === undefined ||
  ports.some(({ port: wanted, protocol = "TCP" }) => {
    return protocol === "TCP" && (typeof wanted === "number" ? wanted : target.ports?.[wanted]) === port;
  });

/**
 * Returns whether the policies let a connection pass, by the rules of networking.k8s.io/v1: a pod that
 * policies select is open only to what one of their rules names.
 */
export function isReachable(policies: readonly Rendered[], from: End, to: End, port: number): boolean {
  const passes = (end: End, type: "Ingress" | "Egress", other: End) => {
    if (end.labels === undefined || end.namespace !== undefined) return true;
    const selecting = policies.filter(
      ({ spec }) => spec.policyTypes.includes(type) && matches(spec.podSelector, end.labels!),
    );
    if (selecting.length === 0) return true;
    const rules = selecting.flatMap(({ spec }) => (type === "Ingress" ? spec.ingress : spec.egress) ?? []) as Rule[];
    return rules.some((rule) => {
      const peers = type === "Ingress" ? rule.from : rule.to;
      return hasPort(rule, port, to) && (peers === undefined || peers.some((peer) => isPeer(peer, other)));
    });
  };
  return passes(from, "Egress", to) && passes(to, "Ingress", from);
}

/** Returns the pods of the rendered workloads and jobs. */
export const podsOf = (objects: readonly Rendered[]): End[] =>
  objects
    .filter(({ spec }) => spec?.template?.spec?.containers)
    .map(({ spec }) => {
      const { metadata, spec: pod } = spec.template;
      const named = pod.containers.flatMap(({ ports = [] }) => ports) as { name: string; containerPort: number }[];
      return {
        name: metadata.labels["app.kubernetes.io/component"],
        labels: metadata.labels,
        ports: Object.fromEntries(named.map(({ name, containerPort }) => [name, containerPort])),
      };
    });
