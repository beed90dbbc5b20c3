import { AppError, type Logger } from "@countersign/core";
import cors from "cors";
import express, { type Express, type RequestHandler } from "express";
import helmet from "helmet";
import { rejectLargeBodies } from "./body.ts";
import { type IdentifiedRequest, identifyRequest } from "./call.ts";
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

  app.use(identify, observeRequests(parts.logger, parts.observe), securityHeaders);
  if (parts.allowedOrigins.length > 0) app.use(crossOrigin(parts.allowedOrigins));
  app.use(requireOneHost, rejectLargeBodies);
  for (const [path, handlers] of byPath(parts)) {
    const route = app.route(path.replace(/\{(\w+)\}/g, ":$1"));
    route.all((_request, response, next) => {
      response.locals.route = path;
      next();
    });
    for (const [method, handler] of handlers) route[method](handler);
    route.all(rejectMethod([...handlers.keys()]));
  }
  if (parts.chainProxy !== undefined) app.use("/chain/v1", parts.chainProxy);
  app.use(() => {
    throw new AppError("RouteNotFound");
  });
  app.use(handleProblems);
  return app;
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

function rejectMethod(methods: readonly Route["method"][]): RequestHandler {
  const allowed = methods.flatMap((method) => (method === "get" ? ["GET", "HEAD"] : [method.toUpperCase()])).join(", ");
  return (_request, response) => {
    response.set("Allow", allowed);
    throw new AppError("MethodNotAllowed", { detail: `This path supports ${allowed}` });
  };
}

const identify: RequestHandler = (request, response, next) => {
  const identity = Object.assign(response.locals, identifyRequest(request.headers));
  response.setHeader("X-Request-Id", identity.requestId);
  response.setHeader("Cache-Control", "no-store");
  identity.span.run(next);
};

/** Rejects all but one Host (RFC 9112, section 3.2): proxies before the gateway must see the same one. */
const requireOneHost: RequestHandler = (request, _response, next) => {
  const hosts = request.headersDistinct.host?.length ?? 0;
  if (hosts > 1 || (hosts === 0 && request.httpVersion !== "1.0")) {
    throw new AppError("InvalidRequest", { detail: "Send one Host header" });
  }
  next();
};

/** Logs and counts each request when its answer is sent, or its client is gone. */
function observeRequests(logger: Logger, observe: ObserveRequest): RequestHandler {
  return ({ method }, response, next) => {
    const started = performance.now();
    response.once("close", () => {
      const durationMs = performance.now() - started;
      const { requestId, span, route = "none", reason, ...outcome } = response.locals as Observed;
      // 499, as in nginx: the client did not wait for the answer.
      const status = response.writableFinished ? response.statusCode : 499;
      const isStream = String(response.getHeader("Content-Type")).startsWith("text/event-stream");
      observe({ method, route, status, seconds: durationMs / 1_000, isStream });
      span.end({
        name: `${method} ${route}`,
        error: status >= 500 ? (reason ?? String(status)) : undefined,
        attributes: { "http.route": route, "http.response.status_code": status },
      });
      const { accountId, rule, failure: err } = outcome;
      const fields = { requestId, traceId: span.trace.traceId, accountId, method, route, status, reason, rule };
      const level = err === undefined ? (status >= 500 ? "warn" : "info") : "error";
      logger[level]({ ...fields, durationMs: Math.round(durationMs), err }, "request");
    });
    next();
  };
}

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
type Observed = IdentifiedRequest & RequestOutcome;

// Answers are data, never pages, and may be read by the origins that CORS names.
const securityHeaders = helmet({
  contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
  crossOriginResourcePolicy: { policy: "cross-origin" },
  referrerPolicy: { policy: "no-referrer" },
  strictTransportSecurity: { maxAge: 31_536_000 },
  xFrameOptions: { action: "deny" },
  // These headers matter only for pages, or for obsolete browsers.
  crossOriginOpenerPolicy: false,
  originAgentCluster: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
});

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
