import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { Failure } from "@countersign/build/fail.ts";
import { guard, unguard } from "./orphan-reaper-client.ts";

export interface ChildOptions {
  name: string;
  command: string;
  args: string[];
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** The file for output; truncated at each start, unless `appendLog`. */
  logFile: string;
  appendLog?: boolean;
  uid?: number;
  gid?: number;
  /** The signal that asks it to end in good order. */
  stopSignal?: NodeJS.Signals;
}

export interface Child {
  name: string;
  pid: number;
  logFile: string;
  /** Resolves when it has ended, with a phrase: "exit code 1" or "signal SIGKILL". */
  exited: Promise<string>;
  running(): boolean;
  /** Kills it and its group without a warning. */
  kill(): Promise<void>;
  /** Asks it to end, and kills it and what it started when it has not after eight seconds. */
  stop(): Promise<void>;
}

/** Returns the last lines of a log, for the message about a dead part. */
export function logTail(logFile: string, lines = 5): string {
  if (!existsSync(logFile)) return "";
  return readFileSync(logFile, "utf8").trim().split("\n").slice(-lines).join("\n");
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The whole group has ended already.
  }
}

const children = new Set<Child>();

/** Kills all children that run, where this process is to end at once. */
export async function killChildren(): Promise<void> {
  await Promise.all([...children].map((child) => child.kill()));
}

export type StartChild = (options: ChildOptions) => Promise<Child>;

/**
 * Starts a long-running program in a process group of its own, so that the terminal's Ctrl-C reaches only the
 * supervisor, which then stops children in order. The orphan reaper ends it if the supervisor is killed.
 */
export async function startChild(options: ChildOptions): Promise<Child> {
  mkdirSync(dirname(options.logFile), { recursive: true });
  const log = openSync(options.logFile, options.appendLog ? "a" : "w", 0o600);
  const stopSignal = options.stopSignal ?? "SIGTERM";
  const child: ChildProcess = spawn(options.command, options.args, {
    cwd: options.cwd,
    env: options.env ?? process.env,
    stdio: ["ignore", log, log],
    detached: true,
    uid: options.uid,
    gid: options.gid,
  });
  closeSync(log);
  const { pid } = child;
  if (pid === undefined) {
    const error = await new Promise<Error>((resolve) => child.once("error", resolve));
    throw new Failure(`${options.name} could not be started: ${error.message}`);
  }
  guard(pid, stopSignal);
  let ended = false;
  const exited = new Promise<string>((resolve) =>
    child.once("exit", (code, signal) => {
      ended = true;
      unguard(pid);
      children.delete(started);
      resolve(signal ? `signal ${signal}` : `exit code ${code}`);
    }),
  );
  const started: Child = {
    name: options.name,
    pid,
    logFile: options.logFile,
    exited,
    running: () => !ended,
    async kill() {
      if (!ended) killGroup(pid);
      await exited;
    },
    async stop() {
      if (!ended) child.kill(stopSignal);
      const timer = setTimeout(() => child.kill("SIGKILL"), 8_000);
      await exited;
      clearTimeout(timer);
      killGroup(pid);
    },
  };
  children.add(started);
  return started;
}
