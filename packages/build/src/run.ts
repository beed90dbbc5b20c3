import { type ChildProcess, spawn } from "node:child_process";
import { Failure } from "./fail.ts";
import { root } from "./paths.ts";

export interface RunOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** "inherit" shows the output as it comes; "capture" returns it and shows it only on failure. */
  output?: "inherit" | "capture";
  user?: { uid: number; gid: number };
}

const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill();
});

/**
 * Runs a program to its end and returns its output; the program ends with this process. Errors: Failure with
 * the last lines if it does not exit with 0.
 */
export function run(command: string, args: string[], options: RunOptions = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const capture = options.output !== "inherit";
    const child = spawn(command, args, {
      cwd: options.cwd ?? root,
      env: options.env ?? process.env,
      ...options.user,
      stdio: ["ignore", capture ? "pipe" : "inherit", capture ? "pipe" : "inherit"],
    });
    running.add(child);
    child.once("close", () => running.delete(child));
    let text = "";
    child.stdout?.on("data", (chunk) => (text += chunk));
    child.stderr?.on("data", (chunk) => (text += chunk));
    child.on("error", (error) => reject(new Failure(`${command} could not be started: ${error.message}`)));
    child.on("close", (code, signal) => {
      if (code === 0) return resolve(text);
      const tail = text.trim().split("\n").slice(-30).join("\n");
      reject(
        new Failure(`\`${[command, ...args].join(" ")}\` ended with ${signal ?? code}${tail ? `:\n${tail}` : ""}`),
      );
    });
  });
}
