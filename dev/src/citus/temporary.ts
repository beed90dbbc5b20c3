import { join } from "node:path";
import { type ServiceName, services } from "@countersign/build/paths.ts";
import { type Citus, distributeAll, NODES, startCitus } from "@countersign/local-stack/citus.ts";
import { freePorts } from "@countersign/local-stack/ports.ts";
import { inTemporaryState } from "@countersign/local-stack/temporary-state.ts";
import { migrate } from "@countersign/migrations/migrate.ts";
import { builtCitus } from "./build.ts";

/** Runs `work` on a Citus of its own with empty, distributed databases, and removes it. */
export function onTemporaryCitus<T>(
  work: (citus: Citus, stateDir: string) => Promise<T>,
  settings: readonly string[] = [],
): Promise<T> {
  return inTemporaryState("citus", async (stateDir) => {
    const ports = await freePorts(NODES);
    const logFile = (node: number) => join(stateDir, `node-${node}.log`);
    const citus = await startCitus({ home: builtCitus(), stateDir, ports, logFile, throwAway: true, settings });
    try {
      for (const service of services) await migrate(service, citus.urlOf(service));
      await distributeAll(citus);
      return await work(citus, stateDir);
    } finally {
      await Promise.all(citus.nodes.map(({ child }) => child.kill()));
    }
  });
}

/** Returns the connection strings of a service's database through each node. */
export const urlsOf = (citus: Citus, service: ServiceName): string[] =>
  citus.nodes.map((_, node) => citus.urlOn(node, citus.urlOf(service)));

/** Returns the value at this share of sorted numbers. */
export const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
