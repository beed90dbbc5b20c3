import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { closeServer, listenAt } from "@countersign/core";
import type { Registry } from "prom-client";

/** Whether a dependency answers: false, or an error, means that it does not. */
export type DependencyCheck = () => boolean | Promise<boolean>;

export interface AdminServerOptions {
  /** "host:port". */
  listen: string;
  registry: Registry;
  /** False while the process starts or stops. */
  serving: () => boolean;
  dependencies: ReadonlyMap<string, DependencyCheck>;
}

const CHECK_MS = 2_000;

async function passes(check: DependencyCheck): Promise<boolean> {
  try {
    return await Promise.race([check(), sleep(CHECK_MS, false, { ref: false })]);
  } catch {
    return false;
  }
}

async function startState({ dependencies, serving }: AdminServerOptions) {
  const results = await Promise.all(
    [...dependencies].map(async ([name, check]) => [name, await passes(check)] as const),
  );
  const isServing = serving();
  return {
    started: isServing && results.every(([, answers]) => answers),
    checks: { serving: isServing, ...Object.fromEntries(results) },
  };
}

/**
 * Serves health and metrics over plain HTTP, for Kubernetes and Prometheus. Nothing of it is for clients.
 *
 * /livez: the event loop turns. /startupz: every dependency answers now. /readyz: this process takes
 * requests; a dependency that is away does not change that, since it is away for every replica: without any
 * replica, clients would get the load balancer's error page and not a problem document.
 */
export async function startAdminServer(options: AdminServerOptions) {
  const server = createServer(async (request, response) => {
    const send = (status: number, type: string, body: string) =>
      response.writeHead(status, { "content-type": type }).end(body);
    try {
      if (request.method !== "GET" && request.method !== "HEAD") return void send(405, "text/plain", "GET only\n");
      switch (request.url?.split("?")[0]) {
        case "/livez":
          return void send(200, "text/plain", "ok\n");
        case "/readyz":
          return void (options.serving() ? send(200, "text/plain", "ok\n") : send(503, "text/plain", "not serving\n"));
        case "/startupz": {
          const state = await startState(options);
          return void send(state.started ? 200 : 503, "application/json", `${JSON.stringify(state)}\n`);
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
  return {
    port: await listenAt(server, options.listen),
    close: () => closeServer(server),
  };
}
