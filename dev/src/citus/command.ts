import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { generate } from "@countersign/build/generate.ts";
import { UsageError } from "@countersign/runtime/command.ts";
import { runProject } from "../test.ts";
import { buildCitus, builtCitus, citusHome } from "./build.ts";

type Run = (args: readonly string[]) => Promise<number>;

const commands: Readonly<Record<string, Run>> = {
  async build(args) {
    const { values } = parseArgs({ args: [...args], options: { source: { type: "string" } } });
    const isBuilt = existsSync(join(citusHome(), "ready"));
    const home = await buildCitus(values.source, console.log);
    const unused = isBuilt && values.source !== undefined;
    console.log(`Citus is in ${home}${unused ? ": it is built already (--source is not used)" : ""}`);
    return 0;
  },

  test: async (args) => runProject("e2e", args, { CS_TEST_CITUS: builtCitus() }),
  start: async (args) => (await import("./start.ts")).start(args),
  race: async (args) => (await import("./race.ts")).race(args),
  explain: async () => (await import("./explain.ts")).explain(),
  seed: async (args) => (await import("./seed.ts")).seed(args),
  latency: async (args) => (await import("./latency.ts")).latency(args),
  "kill-node": async (args) => (await import("./kill-node.ts")).killNode(args),
};

/** `npm run citus -- <command>`: databases on Citus, a coordinator and two workers. See docs/scaling.md. */
export async function citus([name = "", ...args]: readonly string[]): Promise<number> {
  const run = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (run === undefined)
    throw new UsageError(`citus -- ${Object.keys(commands).join(" | ")}`, name && `unknown command ${name}`);
  // Most commands run the services' own stores.
  await generate();
  return run(args).catch((error: NodeJS.ErrnoException) => {
    throw error.code?.startsWith("ERR_PARSE_ARGS_") ? new UsageError(`citus -- ${name}`, error.message) : error;
  });
}
