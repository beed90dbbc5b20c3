import { IncomingMessage, ServerResponse } from "node:http";
import { AppError } from "@countersign/core";
import cors from "cors";
import express, { type Express, type RequestHandler } from "express";
import { requireBodyWithinLimit } from "./body.ts";
import { identifyRequest } from "./call.ts";
import type { MessageClasses } from "./listen.ts";
import { handleProblems } from "./problems.ts";
import { type Route, type RouteParts, toExpressHandler } from "./route.ts";

/** An answered request. */
export interface RequestSample {
  method: string;
  /** The path pattern, never the path. */
  route: string;
  status: number;
  seconds: number;
  /** Whether its answer was a stream of events, which lasts for hours. */
  isStream: boolean;
}

export type ObserveRequest = (sample: RequestSample) => void;

/** A path with an answer that is no route's JSON: a page or a document. Always GET. */
export interface Page {
  path: string;
  respond: RequestHandler;
}

/** The parts that the HTTP application is made of. */
export interface AppParts extends RouteParts {
  routes: readonly Route[];
  pages: readonly Page[];
  observe: ObserveRequest;
  /** Passes requests to chain nodes on; absent: there is no `/chain/v1`. */
  chainProxy?: RequestHandler | undefined;
  /** Origins of browsers that may call; empty: none. */
  allowedOrigins: readonly string[];
  /** Addresses and networks (CIDR) whose X-Forwarded-For is trusted; empty: none. */
  trustedProxies: readonly string[];
  /** The URL of the catalogue of errors, for the `type` of problems. */
  errorPage?: string | undefined;
}

/**
 * Creates the express application: what all requests pass, then the routes, then the answers to unknown
 * paths.
 */
export function createApp(parts: AppParts): Express {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("case sensitive routing", true);
  app.set("query parser", "simple");
  app.set("trust proxy", parts.trustedProxies.length === 0 ? false : [...parts.trustedProxies]);
  app.locals.errorPage = parts.errorPage;

  app.use(receive(parts));
  if (parts.allowedOrigins.length > 0) app.use(crossOrigin(parts.allowedOrigins));
  app.use(checkRequest);
  for (const [path, handlers] of byPath(parts)) {
    const route = app.route(path.replace(/\{(\w+)\}/g, ":$1"));
    for (const [method, handler] of handlers) {
      route[method]((request, response, next) => {
        response.locals.route = path;
        return handler(request, response, next);
      });
    }
    route.all(rejectMethod(path, [...handlers.keys()]));
  }
  if (parts.chainProxy !== undefined) app.use("/chain/v1", parts.chainProxy);
  app.use(({ path }) => {
    throw new AppError("RouteNotFound", { detail: `No such path: ${path.slice(0, 200)}` });
  });
  app.use(handleProblems);
  return app;
}

/**
 * Returns the classes that a server makes the application's requests and answers of. Express changes the
 * prototype of each object that is not of its own class, which costs more than to find a route.
 */
export function messageClasses(app: Express): MessageClasses {
  class Request extends IncomingMessage {}
  class Response<R extends IncomingMessage> extends ServerResponse<R> {}
  app.request = Object.setPrototypeOf(Request.prototype, app.request);
  app.response = Object.setPrototypeOf(Response.prototype, app.response);
  return { IncomingMessage: Request, ServerResponse: Response };
}

/**
 * Returns the handlers of each path, by method, in the order of the table. Throws for a route that is there
 * twice.
 */
function byPath(parts: AppParts): Map<string, Map<Route["method"], RequestHandler>> {
  const paths = new Map<string, Map<Route["method"], RequestHandler>>();
  for (const row of parts.routes) {
    const handlers = paths.get(row.path) ?? new Map();
    if (handlers.has(row.method)) throw new Error(`${row.method} ${row.path} is in the route table twice`);
    paths.set(row.path, handlers.set(row.method, toExpressHandler(row, parts)));
  }
  for (const page of parts.pages) paths.set(page.path, new Map([["get", page.respond]]));
  return paths;
}

function rejectMethod(path: string, methods: readonly Route["method"][]): RequestHandler {
  const allowed = methods.flatMap((method) => (method === "get" ? ["GET", "HEAD"] : [method.toUpperCase()])).join(", ");
  return (_request, response) => {
    response.locals.route = path;
    response.set("Allow", allowed);
    throw new AppError("MethodNotAllowed", { detail: `This path supports ${allowed}` });
  };
}

// Answers are data, never pages, and may be read by the origins that CORS names. Pages set their own policy.
const EVERY_ANSWER = Object.entries({
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none';frame-ancestors 'none'",
  "Cross-Origin-Resource-Policy": "cross-origin",
  "Referrer-Policy": "no-referrer",
  "Strict-Transport-Security": "max-age=31536000; includeSubDomains",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
});

/** An address with the port that some proxies add (`203.0.113.7:4711`, `[2001:db8::1]:4711`). */
const PORT = /(?<=^|[,\s])(?:\[([^\],\s]+)\](?::\d+)?|(\d+(?:\.\d+){3}):\d+)(?=\s*(?:,|$))/g;

/**
 * Identifies a request and sets the headers of every answer. Logs and counts the request when its answer is
 * sent, or its client is gone.
 */
function receive({ logger, observe }: Pick<AppParts, "logger" | "observe">): RequestHandler {
  return ({ method, headers }, response, next) => {
    const started = performance.now();
    const forwarded = headers["x-forwarded-for"];
    if (forwarded !== undefined) headers["x-forwarded-for"] = String(forwarded).replace(PORT, "$1$2");
    const { requestId, trace, span } = identifyRequest(headers);
    Object.assign(response.locals, { requestId, trace });
    response.setHeader("X-Request-Id", requestId);
    for (const [name, value] of EVERY_ANSWER) response.setHeader(name, value);
    response.once("close", () => {
      const durationMs = performance.now() - started;
      const { route = "none", reason, rule, accountId, failure: err } = response.locals as RequestOutcome;
      // 499, as in nginx: the client did not wait for the answer.
      const status = response.writableFinished ? response.statusCode : 499;
      const isStream = String(response.getHeader("Content-Type")).startsWith("text/event-stream");
      observe({ method, route, status, seconds: durationMs / 1_000, isStream });
      span.end({
        name: `${method} ${route}`,
        error: status >= 500 ? (reason ?? String(status)) : undefined,
        attributes: { "http.route": route, "http.response.status_code": status },
      });
      const level = err === undefined ? (status >= 500 ? "warn" : "info") : "error";
      const { traceId } = trace;
      const fields = { requestId, traceId, accountId, method, route, status, reason, rule };
      logger[level]({ ...fields, durationMs: Math.round(durationMs), err }, "request");
    });
    span.run(next);
  };
}

/**
 * Rejects all but one Host (RFC 9112, section 3.2), because proxies before the gateway must see the same one,
 * and a body that is too large.
 */
const checkRequest: RequestHandler = (request, _response, next) => {
  const hosts = request.headersDistinct.host?.length ?? 0;
  if (hosts > 1 || (hosts === 0 && request.httpVersion !== "1.0")) {
    throw new AppError("InvalidRequest", { detail: "Send one Host header" });
  }
  requireBodyWithinLimit(request);
  next();
};

/** The facts learned about a request while it is handled. */
interface RequestOutcome {
  /** The path pattern. */
  route?: string;
  /** Of its problem document. */
  reason?: string;
  /** The signer's rule that refused it. */
  rule?: string;
  accountId?: string;
  /** Thrown, and no AppError. */
  failure?: unknown;
}

function crossOrigin(allowedOrigins: readonly string[]): RequestHandler {
  const handle = cors({
    origin: [...allowedOrigins],
    methods: ["GET", "POST", "PUT", "DELETE"],
    allowedHeaders: [
      "Authorization",
      "Content-Type",
      "Idempotency-Key",
      "X-Request-Id",
      "traceparent",
      "Last-Event-ID",
    ],
    exposedHeaders: ["Date", "X-Request-Id", "Retry-After", "WWW-Authenticate"],
    maxAge: 600,
  });
  // `cors` answers every OPTIONS; one that is no preflight is a method like any other.
  return (request, response, next) => {
    const { origin, "access-control-request-method": requested } = request.headers;
    const isPreflight = origin !== undefined && requested !== undefined;
    if (request.method === "OPTIONS" && !isPreflight) next();
    else handle(request, response, next);
  };
}
