import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { root } from "@countersign/build/paths.ts";
import { type RunningStack, startStack } from "@countersign/local-stack/stack.ts";
import type { StackOptions } from "@countersign/local-stack/stack-options.ts";
import { beginWith, removeState } from "@countersign/local-stack/testing/stack-template.ts";
import { inject } from "vitest";
import { type Controller, startController } from "./controller.ts";

const RESTARTS = 15;
/** Signers start often here, and have few scripts to read at once. */
export const QUICK_START = { SIGNER_PARSER_WORKERS: "1" };
/** A deployment waits so long between two replicas (minReadySeconds), so that callers reconnect. */
const FOUND_AGAIN_MS = 1_000;

/** The programs that have replicas, as processes are named. */
export const programs = ["gateway", "auth", "device", "key", "account", "signer"] as const;
export type Program = (typeof programs)[number];

export interface FaultStack extends RunningStack {
  controller: Controller;
  /** Whether a process is up and serves. */
  isUp(name: string): boolean;
  /** Kills a process and starts it again in the background, after `downMs`. Resolves once it is dead. */
  bounce(name: string, downMs?: number): Promise<void>;
  /** Restarts a process as a deployment does: it ends in its own time. Resolves once it serves again. */
  roll(name: string): Promise<void>;
  /** Once every process that was killed is up again. */
  allUp(): Promise<void>;
  /** Stops a process and all of its own processes where they stand, until the result is called. */
  freeze(name: string): () => void;
  /** Processes that ended though nobody killed them. */
  died(): string[];
  /** Keeps the logs for the reader of a failure; returns their folder. */
  keepLogs(): string;
  /** Returns what our processes have logged of calls refused as unavailable, and the warnings. */
  troubles(): string[];
}

/** Returns the two processes of a program. */
export const replicasOf = (program: Program): [string, string] => [program, `${program}-2`];

/** `npm run test:operations` makes the second replica of each program one of the version before. */
function mixedVersions(name: string): string {
  const other = process.env.CS_TEST_MIXED_WITH;
  return other && name.endsWith("-2") ? other : root;
}

/**
 * Starts a stack for one test file: `replicas` of every program, which report their fault points. `prepare`
 * gets the state directory and returns further options.
 */
export async function startFaultStack(
  settings: Record<string, string> = {},
  replicas = 2,
  checkoutOf: (process: string) => string = mixedVersions,
  prepare: (
    stateDir: string,
  ) => Pick<StackOptions, "databaseUrlFiles"> & { settings?: Record<string, string> } = () => ({}),
): Promise<FaultStack> {
  const stateDir = mkdtempSync(join(tmpdir(), "countersign-faults-"));
  await beginWith(inject("stackTemplate"), stateDir);
  const { settings: more, ...options } = prepare(stateDir);
  const controller = await startController(join(stateDir, "faults.sock"));
  // A program refuses unknown settings that begin with its own name, and ignores those of other programs.
  const extraEnvironment = () => ({ CS_FAULT_POINTS: controller.path, ...QUICK_START, ...settings, ...more });
  const say = (line: string) => console.log(`stack: ${line}`);
  const running = await startStack({
    ...options,
    stateDir,
    freePorts: true,
    throwAway: true,
    isCopy: true,
    replicas,
    extraEnvironment,
    checkoutOf,
    say,
  });
  const down = new Set<string>();
  const restarts = new Set<Promise<void>>();

  const restart = async (name: string, downMs: number) => {
    await sleep(downMs);
    for (let attempt = 1; ; attempt++) {
      try {
        await running.restart(name);
        break;
      } catch (error) {
        // A service whose database is down ends at its start; like a cluster, the stack restarts it.
        if (attempt === RESTARTS) throw error;
        await sleep(1_000);
      }
    }
    down.delete(name);
  };

  return {
    ...running,
    controller,
    isUp: (name) => !down.has(name),
    async bounce(name, downMs = 0) {
      if (down.has(name)) throw new Error(`${name} is down already`);
      down.add(name);
      const pids = withChildren(running.stack.processes[name]!.pid);
      await running.kill(name);
      // Postgres' own processes end by themselves; a new server must not start before they are gone.
      while (pids.some((pid) => existsSync(`/proc/${pid}`))) await sleep(20);
      const back = restart(name, downMs);
      restarts.add(back);
      back.then(
        () => restarts.delete(back),
        // It stays in the set: allUp reports it.
        () => undefined,
      );
    },
    async roll(name) {
      down.add(name);
      await running.end(name);
      await restart(name, 0);
      await sleep(FOUND_AGAIN_MS);
    },
    async allUp() {
      while (restarts.size > 0) await Promise.all(restarts);
    },
    freeze(name) {
      const pids = withChildren(running.stack.processes[name]!.pid);
      for (const pid of pids) signal(pid, "SIGSTOP");
      return () => {
        for (const pid of pids) signal(pid, "SIGCONT");
      };
    },
    died: () =>
      Object.keys(running.stack.processes).filter(
        (name) => !down.has(name) && !running.supervisor.find(name)?.running(),
      ),
    keepLogs() {
      const kept = join(root, ".local", "failed-faults");
      rmSync(kept, { recursive: true, force: true });
      cpSync(join(stateDir, "log"), kept, { recursive: true });
      return kept;
    },
    troubles() {
      const logs = programs.flatMap(replicasOf).map((name) => join(stateDir, "log", `${name}.log`));
      const lines = logs.filter(existsSync).flatMap((file) => readFileSync(file, "utf8").split("\n"));
      return lines.filter((line) => /"level":"(warn|error)"|"reason":"Unavailable"/.test(line));
    },
    async stop() {
      await running.stop();
      controller.close();
      removeState(stateDir);
    },
  };
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended: backends of Postgres come and go.
  }
}

/** Returns a process and all below it: Postgres' backends are groups of their own. */
function withChildren(pid: number): number[] {
  const parents = readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((entry) => {
      try {
        const stat = readFileSync(`/proc/${entry}/stat`, "utf8");
        return [[Number(entry), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1])] as const];
      } catch {
        return [];
      }
    });
  const found = [pid];
  for (const parent of found) for (const [child, its] of parents) if (its === parent) found.push(child);
  return found;
}
