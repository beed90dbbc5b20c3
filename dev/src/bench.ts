import { spawn } from "node:child_process";
import { join } from "node:path";
import { ensureCadenceParser } from "@countersign/build/cadence-parser.ts";
import { generate } from "@countersign/build/generate.ts";
import { root } from "@countersign/build/paths.ts";
import { ensureTools } from "@countersign/local-stack/tools.ts";
import { NO_PRETENURING, ONE_MARKER } from "@countersign/runtime/node-flags.ts";

/** `npm run bench`: makes what the stack needs, then the benchmark; arguments go to it. */
export async function bench(args: string[]): Promise<void> {
  await generate();
  await ensureTools((line) => console.error(line));
  await ensureCadenceParser((line) => console.error(line));
  // As the signer: collecting the garbage of the load, and of the floors, must not take the cores from those that are measured.
  const command = [ONE_MARKER, NO_PRETENURING, join(root, "bench/src/main.ts"), ...args];
  const child = spawn(process.execPath, command, { cwd: root, stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
  process.exitCode = await new Promise<number>((resolve) => child.on("exit", (code) => resolve(code ?? 1)));
}
