import { spawn } from "node:child_process";
import { join } from "node:path";
import { ensureCadenceParser } from "./cadence-parser.ts";
import { generate } from "./generate.ts";
import { root } from "./paths.ts";
import { ensureTools } from "./tools.ts";

/** `npm run bench`: makes what the stack needs, then the benchmark; arguments go to it. */
export async function bench(args: string[]): Promise<void> {
  await generate();
  await ensureTools((line) => console.error(line));
  await ensureCadenceParser((line) => console.error(line));
  const child = spawn(process.execPath, [join(root, "bench/src/main.ts"), ...args], { cwd: root, stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
  process.exitCode = await new Promise<number>((resolve) => child.on("exit", (code) => resolve(code ?? 1)));
}
