import { spawnSync } from "node:child_process";
import { homedir } from "node:os";
import { join } from "node:path";
import { Failure } from "@countersign/build/fail.ts";
import { cacheDir, root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";

/** This machine's address for the cluster's pods, as dev/kubernetes/cluster.sh sets it. */
export const HOST = "10.250.77.1";

const script = join(root, "dev/kubernetes/cluster.sh");
const bin = join(cacheDir(), "kubernetes");
/** The environment in which kubectl and helm use the cluster. */
export const clusterEnv = {
  ...process.env,
  HOME: homedir(),
  PATH: `${bin}:${process.env.PATH}`,
  KUBECONFIG: "/var/tmp/countersign-kubernetes/admin.kubeconfig",
};

/** Starts the cluster; its binaries are built the first time. */
export const clusterUp = () => run(script, ["up"], { output: "inherit" });
export const clusterDown = () => run(script, ["down"], { output: "inherit" });
export const loadImage = (archive: string) => run(script, ["load", archive]);

export const kubectl = (...args: string[]): Promise<string> => run(join(bin, "kubectl"), args, { env: clusterEnv });
export const helm = (...args: string[]): Promise<string> => run(join(bin, "helm"), args, { env: clusterEnv });

/** Creates or changes objects. */
export function apply(objects: readonly object[], ...args: string[]): string {
  const input = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
  const command = ["apply", "--filename", "-", ...args];
  const { status, stdout, stderr } = spawnSync(join(bin, "kubectl"), command, {
    env: clusterEnv,
    input,
    encoding: "utf8",
  });
  if (status !== 0) throw new Failure(`kubectl ${command.join(" ")}:\n${stderr}`);
  return `${stdout}${stderr}`;
}
