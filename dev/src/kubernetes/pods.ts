import { get } from "node:http";
import { kubectl } from "./cluster.ts";
import { NOW } from "./images.ts";
import { nodeCommand } from "./in-pods/command.ts";
import { NAMESPACE } from "./outside.ts";

/** The processes that the chart installs. */
export const PROCESSES = ["gateway", "auth", "device", "key", "account", "signer"] as const;
export type Process = (typeof PROCESSES)[number];

export interface Pod {
  metadata: { name: string; labels: Record<string, string>; deletionTimestamp?: string };
  status: { podIP: string; conditions?: { type: string; status: string }[] };
}

export const inNamespace = (...args: string[]) => kubectl("--namespace", NAMESPACE, ...args);
export const workloadOf = (name: Process) => `${name === "signer" ? "statefulset" : "deployment"}/countersign-${name}`;
/** Returns whether a pod is ready and not about to end. */
export const isReady = ({ metadata, status }: Pod) =>
  !metadata.deletionTimestamp && status.conditions?.some(({ type, status }) => type === "Ready" && status === "True");

/** Returns the pods of a process, or of all. */
export async function podsOf(name?: Process): Promise<Pod[]> {
  const component = name ? `=${name}` : ` in (${PROCESSES.join()})`;
  const text = await inNamespace(
    "get",
    "pods",
    "--output=json",
    "--selector",
    `app.kubernetes.io/component${component}`,
  );
  return (JSON.parse(text) as { items: Pod[] }).items;
}

export const rolledOut = () =>
  Promise.all(PROCESSES.map((name) => inNamespace("rollout", "status", workloadOf(name), "--timeout=400s")));

/** Returns the sum of a metric's samples at a pod's admin port. */
export async function metricOf(pod: Pod, port: number, metric: string): Promise<number> {
  const text = await new Promise<string>((resolve, reject) => {
    get(`http://${pod.status.podIP}:${port}/metrics`, { timeout: 5_000 }, (response) => {
      let body = "";
      response.on("data", (chunk) => (body += chunk)).on("end", () => resolve(body));
    }).on("error", reject);
  });
  const samples = text.split("\n").filter((line) => line.startsWith(metric) && !/grpc\.|Watch|Stream/.test(line));
  return samples.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

/** A pod that only waits, for `kubectl exec`. */
export const waitingPod = (name: string, labels: Record<string, string>) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: NAMESPACE, labels },
  spec: {
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 0,
    securityContext: { runAsNonRoot: true, runAsUser: 10001, seccompProfile: { type: "RuntimeDefault" } },
    containers: [
      {
        name: "wait",
        image: `countersign/service:${NOW}`,
        imagePullPolicy: "Never",
        command: nodeCommand("wait"),
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
      },
    ],
  },
});

export async function canConnect(pod: string, host: string, port: number, namespace = NAMESPACE): Promise<boolean> {
  const command = nodeCommand("connect", String(port), host);
  return (await kubectl("--namespace", namespace, "exec", pod, "--", ...command)).includes("open");
}
