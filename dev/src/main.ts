import { existsSync } from "node:fs";
import { join } from "node:path";
import { Failure, reportFailure } from "@countersign/build/fail.ts";

const verbs: Record<string, (args: string[]) => Promise<void>> = {
  start: async (args) => (await import("./start.ts")).start(args),
  reset: async (args) => (await import("./reset.ts")).reset(args),
  test: async (args) => (await import("./test.ts")).test(args),
  bench: async (args) => (await import("./bench.ts")).bench(args),
  mutate: async (args) => (await import("./mutate.ts")).mutate(args),
  check: async () => (await import("./check.ts")).check(),
  demo: async (args) => {
    const path = join(import.meta.dirname, "demo.ts");
    if (!existsSync(path)) throw new Failure("this checkout has no demo.");
    await (await import(path)).demo(args);
  },
  generate: async () => {
    const made = await (await import("@countersign/build/generate.ts")).generate();
    console.log(made.length > 0 ? `generated: ${made.join(", ")}` : "generated code is up to date");
  },
};

const [verb, ...args] = process.argv.slice(2);
const work = verbs[verb ?? ""];
if (!work) reportFailure(new Failure(`usage: npm run ${Object.keys(verbs).join("|")}`));
else await work(args).catch(reportFailure);
// Connections that are kept alive must not keep a finished command alive.
process.exit();
