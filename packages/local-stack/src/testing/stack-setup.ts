import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import type { TestProject } from "vitest/node";
import { localApps } from "../local-apps.ts";
import { type RunningStack, startStack } from "../stack.ts";
import { keepGatewayLogs, noteStack, resetGatewayLogs } from "./gateway-logs.ts";
import { beginWith, removeState } from "./stack-template.ts";
import { TEST_APP, TEST_PHONE_APP } from "./test-app.ts";
import "./provided.ts";

/**
 * A stack that no file has used for so long ends: those of the last files must not use CPU time that later
 * tests need.
 */
const IDLE_MS = 15_000;

interface WorkerStack {
  running: Promise<RunningStack>;
  stateDir: string;
  /** Files that run on it: one, or none. */
  users: number;
  rest?: NodeJS.Timeout;
}

/**
 * Vitest's global set-up of the `e2e` project: real stacks, on free ports, with state that is thrown away.
 * Each of vitest's workers has one of its own, started when the worker asks for it: its files run on it one
 * after the other. Their services connect to Postgres through the PgBouncer that CS_TEST_PGBOUNCER names, if
 * any; or to the Citus whose folder CS_TEST_CITUS names.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = mkdtempSync(join(tmpdir(), "countersign-e2e-"));
  const template = process.env.CS_TEST_CITUS ? undefined : project.getProvidedContext().stackTemplate;
  resetGatewayLogs();
  const stacks = new Map<string, WorkerStack>();
  const endings: Promise<void>[] = [];
  let started = 0;
  const stackOf = (worker: string): WorkerStack => {
    const found = stacks.get(worker);
    if (found) return found;
    started += 1;
    const stateDir = join(directory, String(started));
    noteStack(stateDir);
    const begun = { running: start(stateDir, worker, template), stateDir, users: 0 };
    begun.running.catch(() => undefined);
    stacks.set(worker, begun);
    return begun;
  };
  const end = (worker: string, own: WorkerStack): void => {
    stacks.delete(worker);
    const ending = stopAndRemove(own);
    // Reported to the code that ends the run, and not before.
    ending.catch(() => undefined);
    endings.push(ending);
  };
  const stopAndRemove = async ({ running, stateDir }: WorkerStack): Promise<void> => {
    await running.then(
      ({ stop }) => stop(),
      () => undefined,
    );
    keepGatewayLogs(stateDir);
    removeState(stateDir);
  };
  const server = createServer((socket) => {
    socket.setEncoding("utf8").once("data", async (line: string) => {
      const worker = line.trim();
      const own = stackOf(worker);
      own.users += 1;
      clearTimeout(own.rest);
      // A worker stays connected as long as it lives.
      socket.once("close", () => {
        own.users -= 1;
        // The last workers end after the run's own end, which has ended their stacks.
        if (own.users === 0 && stacks.get(worker) === own) own.rest = setTimeout(() => end(worker, own), IDLE_MS);
      });
      const answer = await own.running.then(
        ({ stack }) => ({ stack }),
        (error: Error) => ({ error: error.message }),
      );
      socket.write(`${JSON.stringify(answer)}\n`);
    });
    socket.on("error", () => undefined);
  });
  const path = join(directory, "stacks.sock");
  await new Promise<void>((resolve) => server.listen(path, resolve));
  project.provide("stackServer", path);
  project.provide("stackDir", root);
  return async () => {
    server.close();
    for (const [worker, own] of stacks) {
      clearTimeout(own.rest);
      end(worker, own);
    }
    await Promise.all(endings);
    rmSync(directory, { recursive: true, force: true });
  };
}

async function start(stateDir: string, worker: string, template: string | undefined): Promise<RunningStack> {
  try {
    if (template) await beginWith(template, stateDir);
    const say = (line: string) => console.log(`stack ${worker}: ${line}`);
    const pgbouncer = process.env.CS_TEST_PGBOUNCER;
    const home = process.env.CS_TEST_CITUS;
    // The services of one stack connect to all nodes, and those of the next one to others.
    const citus = home ? { home, firstNode: Number(worker) } : undefined;
    const apps = localApps([TEST_APP, TEST_PHONE_APP]);
    const webWallet = process.env.CS_TEST_WALLET === "1";
    const isCopy = template !== undefined;
    const common = { stateDir, freePorts: true, throwAway: true, isCopy, webWallet, apps, say };
    return await startStack({ ...common, pgbouncer, citus, ...(home && { partitions: 4 }) });
  } catch (error) {
    // Logs of a stack that did not start are what one wants to read: they stay, the rest goes.
    const kept = join(root, ".local", "failed-stack");
    rmSync(kept, { recursive: true, force: true });
    cpSync(join(stateDir, "log"), kept, { recursive: true });
    throw error;
  }
}
