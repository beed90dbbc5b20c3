import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { root } from "@countersign/build/paths.ts";
import { start as startStack } from "../start.ts";
import { builtCitus } from "./build.ts";

/**
 * `start [--state-dir <folder>]`: the whole stack with its databases on a coordinator and two workers, and
 * its events in four partitions.
 */
export async function start(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: { "state-dir": { type: "string" } } });
  const stateDir = resolve(values["state-dir"] ?? join(root, ".local/citus"));
  await startStack({ "free-ports": true, "state-dir": stateDir, citus: builtCitus(), partitions: 4 });
  return 0;
}
