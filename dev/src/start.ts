import { resolve } from "node:path";
import { defaultStateDir } from "@countersign/build/paths.ts";
import { describeApp, localApps } from "@countersign/local-stack/local-apps.ts";
import { type RunningStack, startStack } from "@countersign/local-stack/stack.ts";
import type { Stack } from "@countersign/local-stack/stack-file.ts";
import { checkStateDir, makeStateDir } from "./state-dir.ts";

const FORCE_AFTER_MS = 2000;

/** Returns a table of the processes and their addresses. */
function table(stack: Stack): string {
  const addresses: Record<string, string> = {
    gateway: stack.gateway,
    "identity-provider": stack.identityProvider.issuer,
    "web-wallet": stack.webWallet ?? "",
    nats: stack.nats,
    postgres: new URL(stack.postgres).host,
    "flow-emulator": stack.chains[0]?.accessNode ?? "",
  };
  const rows = Object.entries(stack.processes).map(([name, { pid, grpc, metrics }]) => [
    name,
    String(pid),
    addresses[name] ?? (grpc ? `${grpc} (gRPC)` : ""),
    metrics ?? "",
  ]);
  const all = [["process", "pid", "address", "metrics"], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((row) => (row[column] as string).length)));
  return all
    .map((row) => `  ${row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join("  ")}`.trimEnd())
    .join("\n");
}

/** Returns the addresses of the OpenAPI document and of the health endpoints. */
function whereabouts({ gateway, processes }: Stack): string {
  const [metrics = ""] = Object.values(processes).flatMap((each) => each.metrics ?? []);
  const ready = metrics.replace(/\/metrics$/, "/readyz");
  return [
    `  contract: ${gateway}/docs`,
    `  health: /livez, /readyz and /startupz beside each /metrics, such as ${ready}`,
  ].join("\n");
}

/**
 * Requests the stop on a signal, and when the process that started this one is gone. A second signal more
 * than two seconds later kills all processes.
 */
function stopOnRequest(request: (why: string) => void, force: () => void): void {
  let first: number | undefined;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      // npm and the terminal both forward one Ctrl-C: several within two seconds count as one.
      if (first === undefined) {
        first = performance.now();
        request(signal);
      } else if (performance.now() - first > FORCE_AFTER_MS) force();
    });
  }
  const bootstrap = Number(process.env.CS_BOOTSTRAP_PID);
  if (!bootstrap) return;
  setInterval(() => {
    if (process.ppid !== bootstrap && first === undefined) {
      first = performance.now();
      request("the end of the program that started the stack");
    }
  }, 500).unref();
}

/** `npm start`: runs the whole stack until it is asked to stop. */
export async function start(options: {
  "free-ports": boolean;
  "state-dir"?: string | undefined;
  app?: string[] | undefined;
  /** The folder of a Postgres with Citus. Default: one Postgres. */
  citus?: string;
  /** Of the events at NATS. Default: CS_NATS_PARTITIONS, or one stream. */
  partitions?: number;
}): Promise<void> {
  const apps = localApps(options.app ?? []);
  const started = performance.now();
  const seconds = () => ((performance.now() - started) / 1000).toFixed(1);
  const say = (line: string) => console.log(`[${seconds().padStart(5)} s] ${line}`);

  let stopWhy: string | undefined;
  const { promise: asked, resolve: stopRequested } = Promise.withResolvers<void>();
  let running: RunningStack | undefined;
  const request = (why: string) => {
    stopWhy = why;
    stopRequested();
  };
  stopOnRequest(request, () => running?.supervisor.kill());

  const stateDir = resolve(options["state-dir"] ?? defaultStateDir);
  if (options["state-dir"] !== undefined) {
    checkStateDir(stateDir);
    makeStateDir(stateDir);
  }
  const starting = startStack({
    stateDir,
    freePorts: options["free-ports"],
    autoRestart: true,
    webWallet: true,
    apps,
    throwAway: false,
    ...(options.citus !== undefined && { citus: { home: options.citus } }),
    partitions: options.partitions,
    say,
    cancel: asked,
  });
  running = await starting;
  if (stopWhy === undefined) {
    console.log(`\n${table(running.stack)}\n\n${whereabouts(running.stack)}`);
    for (const app of apps) console.log(describeApp(app).replaceAll(/^/gm, "  "));
    console.log(`  logs: ${stateDir}/log   details: ${running.stackFile}   stop: Ctrl-C\n`);
    console.log(`ready in ${seconds()} s`);
  }
  await asked;
  console.log(`stopping (${stopWhy}) …`);
  await running.stop();
  console.log("stopped: no process is left");
}
