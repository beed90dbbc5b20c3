import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Registry } from "prom-client";

/** Whether a part works: false, or an error, means that it does not. */
export type ReadyCheck = () => boolean | Promise<boolean>;

export interface AdminServerOptions {
  /** "host:port". */
  listen: string;
  registry: Registry;
  /** False while the process starts or stops. */
  serving: () => boolean;
  checks: ReadonlyMap<string, ReadyCheck>;
}

export interface AdminServer {
  port: number;
  close(): Promise<void>;
}

const CHECK_MS = 2_000;

async function passes(check: ReadyCheck): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), CHECK_MS);
  });
  try {
    return await Promise.race([check(), late]);
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}

async function readiness(options: AdminServerOptions): Promise<{ ready: boolean; checks: Record<string, boolean> }> {
  const results = await Promise.all(
    [...options.checks].map(async ([name, check]) => [name, await passes(check)] as const),
  );
  const serving = options.serving();
  return { ready: serving && results.every(([, good]) => good), checks: { serving, ...Object.fromEntries(results) } };
}

/** Splits "host:port". */
export function splitAddress(address: string): { host: string; port: number } {
  const at = address.lastIndexOf(":");
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ""), port: Number(address.slice(at + 1)) };
}

/**
 * Serves /livez, /readyz and /metrics over plain HTTP, for Kubernetes and Prometheus. Nothing of it is for
 * clients.
 */
export async function startAdminServer(options: AdminServerOptions): Promise<AdminServer> {
  const server = createServer(async (request, response) => {
    const send = (status: number, type: string, body: string) =>
      response.writeHead(status, { "content-type": type }).end(body);
    try {
      if (request.method !== "GET" && request.method !== "HEAD") return void send(405, "text/plain", "GET only\n");
      switch (request.url?.split("?")[0]) {
        case "/livez":
          return void send(200, "text/plain", "ok\n");
        case "/readyz": {
          const state = await readiness(options);
          return void send(state.ready ? 200 : 503, "application/json", `${JSON.stringify(state)}\n`);
        }
        case "/metrics":
          return void send(200, options.registry.contentType, await options.registry.metrics());
        default:
          return void send(404, "text/plain", "no such path\n");
      }
    } catch {
      send(500, "text/plain", "failed\n");
    }
  });
  server.keepAliveTimeout = 5_000;
  const { host, port } = splitAddress(options.listen);
  server.listen(port, host);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
