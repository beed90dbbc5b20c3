import { existsSync, globSync, linkSync, mkdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { setInterval } from "node:timers";
import { NAMESPACE } from "./outside.ts";

/** As dev/kubernetes/cluster.sh sets them. */
const LOGS = "/var/tmp/countersign-kubernetes/log";
const PODS = join(LOGS, "pods");

/** The logs of all pods since then, also of those that are gone: a rolling upgrade deletes them. */
export interface PodLogs {
  /** Returns the lines with a text, each after the name of its pod and container. */
  linesWith(text: string): string[];
  stop(): void;
}

/** Keeps a hard link to each log file: the node deletes a pod's files with the pod. */
export function keepPodLogs(): PodLogs {
  const kept = join(LOGS, `kept-${Date.now()}`);
  mkdirSync(kept);
  const link = () => {
    for (const file of globSync(join(PODS, `${NAMESPACE}_*`, "*", "*.log"))) {
      const to = join(kept, relative(PODS, file).replaceAll("/", "_"));
      if (!existsSync(to)) linkSync(file, to);
    }
  };
  const timer = setInterval(link, 1_000);
  return {
    linesWith(text) {
      link();
      const linesOf = (file: string) =>
        readFileSync(join(kept, file), "utf8")
          .split("\n")
          .filter((line) => line.includes(text))
          .map((line) => `${file.slice(NAMESPACE.length + 1)}: ${line}`);
      return globSync("*", { cwd: kept }).flatMap(linesOf);
    },
    stop: () => clearInterval(timer),
  };
}
