import { Agent } from "node:https";
import { AppError } from "@countersign/errors";
import { type Logger, type TlsMaterial, traceHeader } from "@countersign/service-kit";
import type { Response } from "express";
import { createProxyMiddleware } from "http-proxy-middleware";
import type { Page } from "./app.ts";
import { sendProblem } from "./problems.ts";
import type { RequestIdentity } from "./request-id.ts";

/** Where auth publishes its keys: its HTTPS listener with mutual TLS. */
export interface JwksUpstream {
  /** host:port. */
  address: string;
  /** The name in auth's certificate. */
  serverName: string;
  tls: TlsMaterial;
}

const PATH = "/.well-known/jwks.json";
const PASSED_ON = new Set(["accept", "if-none-match", "if-modified-since", "x-request-id", "traceparent"]);

/** Passes GET /.well-known/jwks.json on to auth, without the client's cookies and tokens. */
export function createJwksPage({ address, serverName, tls }: JwksUpstream, logger: Logger): Page {
  const agent = new Agent({ ...tls, servername: serverName, keepAlive: true, maxSockets: 8, minVersion: "TLSv1.3" });
  const proxy = createProxyMiddleware({
    target: `https://${address}`,
    agent,
    changeOrigin: true,
    xfwd: false,
    // Whatever the target was, absolute or with a query: one document is asked for.
    pathRewrite: () => PATH,
    timeout: 3_000,
    proxyTimeout: 3_000,
    on: {
      proxyReq: (outgoing, _request, response) => {
        for (const name of outgoing.getHeaderNames()) {
          if (!PASSED_ON.has(name) && name !== "host" && name !== "connection") outgoing.removeHeader(name);
        }
        const { requestId, trace } = (response as Response).locals as RequestIdentity;
        outgoing.setHeader("x-request-id", requestId);
        outgoing.setHeader("traceparent", traceHeader(trace));
      },
      proxyRes: (incoming, _request, response) => {
        delete incoming.headers["set-cookie"];
        // Ours is the one that the client gets.
        delete incoming.headers["x-request-id"];
        if (incoming.headers["cache-control"] === undefined) response.setHeader("Cache-Control", "public, max-age=60");
      },
      error: (error, _request, response) => {
        if (!("locals" in response)) return;
        const answer = response as Response;
        logger.warn({ requestId: answer.locals.requestId, err: error }, "auth did not answer for its keys");
        if (!answer.headersSent) sendProblem(answer, new AppError("Unavailable"));
      },
    },
  });
  return { path: PATH, respond: (request, response, next) => void proxy(request, response, next) };
}
