import { spawn } from "node:child_process";
import { root } from "@countersign/build/paths.ts";

/** Runs a program of Node in the foreground, with our signals passed on to it. Returns its exit code. */
export function runInForeground(args: readonly string[], options: { env?: NodeJS.ProcessEnv } = {}): Promise<number> {
  const child = spawn(process.execPath, args, { cwd: root, stdio: "inherit", ...options });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => child.on("exit", (code) => resolve(code ?? 1)));
}
