import { flushCompileCache } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import { type Clock, enableFaultPoints, type Logger, observeOutsideCalls, systemClock } from "@countersign/core";
import { type DependencyCheck, startAdminServer } from "./admin.ts";
import { ConfigError, type Env } from "./config.ts";
import type { Files } from "./files.ts";
import { createLogger, LOG_LEVELS } from "./log.ts";
import { createMetrics, createOutsideCalls, type Metrics } from "./metrics.ts";
import { watchFiles } from "./watched-files.ts";

/** The functions of a process for the code that builds the service. */
export interface ServiceProcess {
  name: string;
  env: Env;
  logger: Logger;
  metrics: Metrics;
  clock: Clock;
  files: Files;
  /** Aborts when the process begins to stop. */
  signal: AbortSignal;
  /** Milliseconds that running calls have to finish when the process stops. */
  drainMs: number;
  /** Registers a function to call at the end; the newest is called first. */
  onClose(name: string, close: () => unknown): void;
  /** Adds a dependency that must answer before the process counts as started (/startupz). */
  dependency(name: string, check: DependencyCheck): void;
}

export interface RunServiceOptions {
  /** For example "auth": <NAME>_ADMIN_LISTEN names the admin address. */
  name: string;
  start(process: ServiceProcess): Promise<void>;
  env?: Env;
  /** Whether anybody may call it: then it decides itself which traces are exported. Default false. */
  isPublic?: boolean;
}

export interface RunningService {
  adminPort: number | undefined;
  /**
   * Becomes unready and closes everything, newest first, until the force time. Returns whether all of it
   * closed in time.
   */
  stop(): Promise<boolean>;
}

const UNREADY_MS = 250;
const FAILED_START_MS = 3_000;

function drainMsOf({ CS_DRAIN_MS: value }: Env): number {
  if (value === undefined || value === "") return 10_000;
  if (!/^\d{1,6}$/.test(value)) throw new ConfigError(["CS_DRAIN_MS: must be milliseconds, at most six digits"]);
  return Number(value);
}

/**
 * Connects to the fault tests' controller that CS_FAULT_POINTS names, if any. Errors: ConfigError in
 * production.
 */
function connectFaultPoints(env: Env, program: string): void {
  const path = env.CS_FAULT_POINTS;
  if (path === undefined || path === "") return;
  if (env.NODE_ENV === "production") throw new ConfigError(["CS_FAULT_POINTS: is for tests, never for production"]);
  enableFaultPoints(path, program);
}

const TRACES_ENDPOINTS = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
const SAMPLER = "parentbased_traceidratio";

/**
 * Exports the spans of the process where OpenTelemetry's variables name a collector. Returns how to end that.
 * The libraries are only loaded then. Errors: ConfigError.
 */
async function exportTraces(env: Env, options: RunServiceOptions): Promise<() => Promise<void>> {
  const { name, isPublic: decidesItself = false } = options;
  if (!TRACES_ENDPOINTS.some((variable) => env[variable])) return async () => undefined;
  const sampler = env.OTEL_TRACES_SAMPLER || SAMPLER;
  const argument = env.OTEL_TRACES_SAMPLER_ARG || "1";
  if (sampler !== SAMPLER) throw new ConfigError([`OTEL_TRACES_SAMPLER: must be ${SAMPLER}, the default`]);
  if (!/^(0(\.\d{1,9})?|1(\.0{1,9})?)$/.test(argument)) {
    throw new ConfigError(["OTEL_TRACES_SAMPLER_ARG: must be a share of 0 to 1"]);
  }
  const { startTracing } = await import("./tracing.ts");
  return startTracing({ name, ratio: Number(argument), decidesItself });
}

/** Starts a service without touching the process itself: for tests and for `runService`. */
export async function startService(options: RunServiceOptions & { logger?: Logger }): Promise<RunningService> {
  const env = options.env ?? process.env;
  connectFaultPoints(env, options.name);
  const logger: Logger = options.logger ?? createLogger({ name: options.name, level: env.CS_LOG_LEVEL });
  const stopTraces = await exportTraces(env, options);
  const metrics = createMetrics(options.name);
  observeOutsideCalls(createOutsideCalls(metrics));
  const drainMs = drainMsOf(env);
  const stopping = new AbortController();
  const files = watchFiles({ logger, metrics });
  const closers: { name: string; close: () => unknown }[] = [
    { name: "traces", close: stopTraces },
    { name: "files", close: files.close },
  ];
  const dependencies = new Map<string, DependencyCheck>();
  let serving = false;

  const closeAll = async (): Promise<void> => {
    for (let closer = closers.pop(); closer !== undefined; closer = closers.pop()) {
      try {
        await closer.close();
      } catch (err) {
        logger.error({ err, component: closer.name }, "could not close component");
      }
    }
  };

  let admin: Awaited<ReturnType<typeof startAdminServer>> | undefined;
  try {
    const listen = env[`${options.name.toUpperCase().replaceAll("-", "_")}_ADMIN_LISTEN`];
    if (listen !== undefined && listen !== "") {
      admin = await startAdminServer({ listen, registry: metrics.registry, serving: () => serving, dependencies });
      closers.push({ name: "admin", close: admin.close });
    }
    await options.start({
      name: options.name,
      env,
      logger,
      metrics,
      clock: systemClock,
      files,
      signal: stopping.signal,
      drainMs,
      onClose: (name, close) => void closers.push({ name, close }),
      dependency: (name, check) => void dependencies.set(name, check),
    });
  } catch (error) {
    stopping.abort();
    // Parts that were just begun may not end yet; the reason of the failure must be logged all the same.
    await Promise.race([closeAll(), sleep(Math.min(drainMs, FAILED_START_MS))]);
    throw error;
  }
  serving = true;
  logger.info({ event: "started" }, "ready");

  let stopped: Promise<boolean> | undefined;
  const stop = async (): Promise<boolean> => {
    serving = false;
    logger.info({ event: "stopping" }, "stopping");
    stopping.abort();
    // Gives the callers of /readyz a moment to see it.
    await sleep(Math.min(UNREADY_MS, drainMs));
    const forced = sleep(drainMs + 5_000, "late" as const, { ref: false });
    const result = await Promise.race([closeAll(), forced]);
    if (result === "late") logger.error({ event: "forced" }, "some components did not close in time");
    return result !== "late";
  };
  return {
    adminPort: admin?.port,
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
  };
}

/**
 * Runs a service as this process: stops on SIGTERM and SIGINT, ends with 1 on errors that nobody caught.
 * `start` is the composition root; the process is ready when it resolves.
 */
export async function runService(options: RunServiceOptions): Promise<void> {
  const level = process.env.CS_LOG_LEVEL || "info";
  const isLevel = LOG_LEVELS.includes(level);
  const logger = createLogger({ name: options.name, level: isLevel ? level : "info" });
  const die = (message: string) => (err: unknown) => {
    logger.fatal({ err }, message);
    process.exit(1);
  };
  process.on("uncaughtException", die("uncaught error"));
  process.on("unhandledRejection", die("unhandled rejection"));
  let service: RunningService | undefined;
  const stop = (signal: NodeJS.Signals) => {
    // A second signal, or one during the start, ends the process at once.
    process.once(signal, () => process.exit(1));
    if (service === undefined) process.exit(0);
    service.stop().then((clean) => process.exit(clean ? 0 : 1), die("stopping failed"));
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
  try {
    if (!isLevel) throw new ConfigError([`CS_LOG_LEVEL: must be one of ${LOG_LEVELS.join(", ")}`]);
    service = await startService({ ...options, logger });
    // Where NODE_COMPILE_CACHE is set: now, because a process that is killed writes nothing.
    flushCompileCache();
  } catch (err) {
    die("could not start")(err);
  }
}
