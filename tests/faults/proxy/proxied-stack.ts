import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root, type ServiceName, services } from "@countersign/build/paths.ts";
import { type RunningStack, startStack } from "@countersign/local-stack/stack.ts";
import type { Stack } from "@countersign/local-stack/stack-file.ts";
import { beginWith, removeState } from "@countersign/local-stack/testing/stack-template.ts";
import pg from "pg";
import { inject } from "vitest";
import { QUICK_START } from "../fault-stack.ts";
import { createNetwork, type Network } from "./network.ts";
import { recordEmitted } from "./record-emitted.ts";

/** A stack whose processes reach each other only through proxies; the tests reach all of them directly. */
export interface ProxiedStack {
  stack: Stack;
  network: Network;
  /** Queries a service's database without the proxies. */
  query<Row>(service: ServiceName, sql: string, values?: unknown[]): Promise<Row[]>;
  /** The first characters of the ids of the first recorded events. */
  recordedFrom: string;
  /** Processes that ended by themselves. */
  died(): string[];
  stop(): Promise<void>;
}

/** Returns the folder in which a file's logs are kept for the reader of a failure. */
const logsOf = (name: string): string => join(root, ".local", `faults-${name}`);

/**
 * Starts the stack on free ports with temporary state; the logs are kept below .local. `environment` is for
 * all services.
 */
export async function startProxiedStack(
  name: string,
  seed: number,
  environment: Record<string, string> = {},
): Promise<ProxiedStack> {
  const stateDir = mkdtempSync(join(tmpdir(), `countersign-${name}-`));
  await beginWith(inject("stackTemplate"), stateDir);
  const network = createNetwork(stateDir, seed);
  const pools = new Map<ServiceName, pg.Pool>();
  const clean = async () => {
    await Promise.all([...pools.values()].map((pool) => pool.end()));
    await network.close();
    rmSync(logsOf(name), { recursive: true, force: true });
    cpSync(join(stateDir, "log"), logsOf(name), { recursive: true });
    removeState(stateDir);
  };
  let running: RunningStack;
  try {
    const { addressOf } = network;
    const say = (line: string) => console.log(`stack: ${line}`);
    const extraEnvironment = () => ({ ...QUICK_START, ...environment });
    running = await startStack({
      stateDir,
      freePorts: true,
      throwAway: true,
      isCopy: true,
      addressOf,
      extraEnvironment,
      say,
    });
  } catch (error) {
    await clean();
    throw error;
  }
  const { stack } = running;
  for (const service of services) {
    const pool = new pg.Pool({ connectionString: stack.databases[service], max: 3, application_name: "fault tests" });
    pool.on("error", () => undefined);
    pools.set(service, pool);
  }
  const query = async <Row>(service: ServiceName, sql: string, values: unknown[] = []) => {
    const { rows } = await pools.get(service)!.query(sql, values);
    return rows as Row[];
  };
  return {
    stack,
    network,
    query,
    recordedFrom: await recordEmitted(query),
    died: () => Object.keys(stack.processes).filter((name) => !running.supervisor.find(name)?.running()),
    stop: async () => {
      await running.stop();
      await clean();
    },
  };
}
