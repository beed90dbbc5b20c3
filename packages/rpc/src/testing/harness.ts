import type { TlsMaterial, Watched } from "@countersign/core";
import { memoryLines } from "@countersign/core/testing/memory-lines.ts";
import { pino } from "pino";
import { Registry } from "prom-client";
import { type PeersFile, peersFile } from "../peers.ts";
import { createRpcMetrics, type RpcMetrics } from "../rpc-metrics.ts";
import { createRpcServer, type RpcServer } from "../server.ts";
import type { RpcServerOptions } from "../server-options.ts";

/** Returns a logger that keeps its lines in memory. */
export function memoryLogger() {
  const { destination, ...kept } = memoryLines();
  const formatters = { level: (label: string) => ({ level: label }) };
  return { logger: pino({ level: "debug", base: { name: "test" }, formatters }, destination), ...kept };
}

export interface TestServer {
  server: RpcServer;
  metrics: RpcMetrics & { registry: Registry };
  log: ReturnType<typeof memoryLogger>;
  /** The address, once `listen` has been called. */
  listen(): Promise<string>;
}

/** Creates a server on a free port of the loopback address. */
export function testServer(
  tls: TlsMaterial | Watched<TlsMaterial>,
  rpcs: PeersFile["rpcs"],
  options: Partial<RpcServerOptions> & { names?: Record<string, string> } = {},
): TestServer {
  const log = memoryLogger();
  const registry = new Registry();
  registry.setDefaultLabels({ service: "test" });
  const metrics = { registry, ...createRpcMetrics(registry) };
  const { names, ...rest } = options;
  const peers = peersFile.parse({ rpcs, ...(names === undefined ? {} : { names }) });
  const server = createRpcServer({ tls, peers, logger: log.logger, metrics, ...rest });
  return { server, metrics, log, listen: async () => `127.0.0.1:${(await server.listen("127.0.0.1:0")).port}` };
}
