import { createLogger, type Logger } from "../log.ts";
import { createMetrics, type Metrics } from "../metrics.ts";
import { type PeersFile, parsePeers } from "../peers.ts";
import { createRpcServer, type RpcServer } from "../rpc/server.ts";
import type { RpcServerOptions } from "../rpc/server-options.ts";
import type { TlsMaterial } from "../tls.ts";

/** A logger that keeps its lines. */
export function memoryLogger(level = "debug"): {
  logger: Logger;
  lines: () => Record<string, unknown>[];
  text: () => string;
} {
  let text = "";
  const destination = {
    write: (line: string) => {
      text += line;
    },
  };
  return {
    logger: createLogger({ name: "test", level, destination }),
    lines: () =>
      text
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    text: () => text,
  };
}

export interface TestServer {
  server: RpcServer;
  metrics: Metrics;
  log: ReturnType<typeof memoryLogger>;
  /** Address once `listen` has been called. */
  listen(): Promise<string>;
}

/** A server on a free port of the loopback address. */
export function testServer(
  tls: TlsMaterial,
  rpcs: PeersFile["rpcs"],
  options: Partial<RpcServerOptions> & { names?: Record<string, string> } = {},
): TestServer {
  const log = memoryLogger();
  const metrics = createMetrics("test", { defaults: false });
  const { names, ...rest } = options;
  const peers = parsePeers({ rpcs, ...(names === undefined ? {} : { names }) });
  const server = createRpcServer({ name: "test", tls, peers, logger: log.logger, metrics, ...rest });
  return { server, metrics, log, listen: async () => `127.0.0.1:${(await server.listen("127.0.0.1:0")).port}` };
}
