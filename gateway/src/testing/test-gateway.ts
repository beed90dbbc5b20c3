import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  AppError,
  systemClock,
  type TokenVerifier,
  unchanging,
  type VerifiedToken,
  type Watched,
} from "@countersign/core";
import { createLogger } from "@countersign/runtime";
import { createAsyncApi } from "../asyncapi.ts";
import type { ChainNode, ChainNodes } from "../chain-nodes/chain-nodes-file.ts";
import { createChainProxy } from "../chain-nodes/chain-proxy.ts";
import { createApp, messageClasses, type ObserveRequest, type Page } from "../http/app.ts";
import { createPages } from "../http/pages.ts";
import { createOpenApi } from "../openapi.ts";
import { createRoutes } from "../routes/index.ts";
import { createFakeServices } from "./fake-services.ts";

/**
 * Knows the tokens "full", "sign" and "recover", which are what they are called, "phone" and "other", full
 * ones of another device and of another account, "expired" and "ended".
 */
export const fakeVerifier: TokenVerifier = {
  verify(raw) {
    if (raw === "expired") throw new AppError("AccessTokenExpired");
    if (raw === "ended") throw new AppError("SessionEnded");
    if (!["full", "sign", "recover", "phone", "other"].includes(raw)) throw new AppError("InvalidAccessToken");
    const accountId = `0197a1b2-0000-7000-8000-00000000000${raw === "other" ? 2 : 1}`;
    const scope = raw === "sign" || raw === "recover" ? raw : "full";
    // Somebody with the login only may ask to enroll the keys of a device.
    const deviceKey = { algorithm: "ES256", publicKey: raw === "sign" ? "full" : raw };
    return { accountId, scope, sessionId: raw, deviceKey } as VerifiedToken;
  },
};

export interface TestGatewayOptions {
  allowedOrigins?: string[];
  trustedProxies?: string[];
  requireLoginToken?: boolean;
  heartbeatMs?: number;
  pages?: Page[];
  observe?: ObserveRequest;
  chainNodes?: Record<string, ChainNode> | Watched<ChainNodes>;
  chainRequestsPerMinute?: number;
  errorPage?: string;
}

const nodesOf = (nodes: TestGatewayOptions["chainNodes"] = {}): Watched<ChainNodes> =>
  "onChange" in nodes ? (nodes as Watched<ChainNodes>) : unchanging(new Map(Object.entries(nodes)));

/** The whole HTTP application on a free port, with fake services behind it. */
export async function startTestGateway(options: TestGatewayOptions = {}) {
  const services = createFakeServices();
  const routes = createRoutes(services.clients, { requireLoginToken: options.requireLoginToken ?? true });
  const openApi = createOpenApi(routes);
  const samples: { method: string; route: string; status: number }[] = [];
  const stopping = new AbortController();
  const logger = createLogger({ name: "gateway", level: "silent" });
  const app = createApp({
    routes,
    chainProxy: createChainProxy({
      nodes: nodesOf(options.chainNodes),
      verifier: fakeVerifier,
      clock: systemClock,
      logger,
      perMinute: options.chainRequestsPerMinute ?? 1_000,
    }),
    pages: [...createPages({ openApi, asyncApi: createAsyncApi(openApi) }), ...(options.pages ?? [])],
    verifier: fakeVerifier,
    errorPage: options.errorPage,
    logger,
    heartbeatMs: options.heartbeatMs ?? 15_000,
    stopping: stopping.signal,
    observe: options.observe ?? (({ method, route, status }) => samples.push({ method, route, status })),
    allowedOrigins: options.allowedOrigins ?? [],
    trustedProxies: options.trustedProxies ?? [],
  });
  const server = createServer(messageClasses(app), app);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ...services,
    url,
    routes,
    samples,
    stopping,
    /** Sends a request; a body that is no string is sent as JSON. */
    async send(
      method: string,
      path: string,
      init: { body?: unknown; token?: string; headers?: Record<string, string> } = {},
    ) {
      const body = init.body === undefined || typeof init.body === "string" ? init.body : JSON.stringify(init.body);
      const response = await fetch(url + path, {
        method,
        headers: {
          ...(body !== undefined && { "content-type": "application/json" }),
          ...(init.token !== undefined && { authorization: `Bearer ${init.token}` }),
          ...init.headers,
        },
        ...(body !== undefined && { body: body as string }),
      });
      const text = await response.text();
      const json = text.startsWith("{") ? (JSON.parse(text) as Record<string, unknown>) : {};
      return { status: response.status, headers: response.headers, text, json };
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export type TestGateway = Awaited<ReturnType<typeof startTestGateway>>;
