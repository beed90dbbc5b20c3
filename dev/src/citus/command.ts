import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Failure } from "@countersign/build/fail.ts";
import { prepareTests, runVitest } from "../test.ts";
import { buildCitus, builtCitus, citusHome } from "./build.ts";

type Run = (args: readonly string[]) => Promise<number>;

const commands: Readonly<Record<string, Run>> = {
  async build(args) {
    const { values } = parseArgs({ args: [...args], options: { source: { type: "string" } } });
    const isBuilt = existsSync(join(citusHome(), "ready"));
    const home = await buildCitus(values.source, console.log);
    console.log(`Citus is in ${home}${isBuilt ? ": it was built before, and no source is read" : ""}`);
    return 0;
  },

  async test(args) {
    const options = ["--project=e2e", ...args];
    await prepareTests(options);
    return runVitest(options, { CS_TEST_CITUS: builtCitus() });
  },

  start: async (args) => (await import("./start.ts")).start(args),
  race: async (args) => (await import("./race.ts")).race(args),
  explain: async () => (await import("./explain.ts")).explain(),
  seed: async (args) => (await import("./seed.ts")).seed(args),
  latency: async (args) => (await import("./latency.ts")).latency(args),
  "kill-node": async (args) => (await import("./kill-node.ts")).killNode(args),
};

/** `npm run citus -- <command>`: databases on Citus, a coordinator and two workers. See docs/scaling.md. */
export async function citus([name = "", ...args]: readonly string[]): Promise<number> {
  const run = commands[name];
  if (run === undefined)
    throw new Failure(
      `${name === "" ? "" : `no command ${name}; `}npm run citus -- ${Object.keys(commands).join(" | ")}`,
    );
  return run(args);
}
