import { AppError, type Logger } from "@countersign/core";
import cors from "cors";
import express, { type Express, type Request, type RequestHandler, type Response } from "express";
import helmet from "helmet";
import { refuseLargeBodies } from "./body.ts";
import { headerValues } from "./headers.ts";
import { handleProblems } from "./problems.ts";
import { identifyRequest, type RequestIdentity } from "./request-id.ts";
import { type Route, type RouteParts, toExpressHandler } from "./route.ts";

/** Counts one answered request; `route` is the path pattern, never the path. */
export type ObserveRequest = (sample: { method: string; route: string; status: number; seconds: number }) => void;

/** A path that answers something else than a row's JSON: a page, a document, what a proxy brings. Always GET. */
export interface Page {
  path: string;
  respond: RequestHandler;
}

/** What the HTTP application is made of. */
export interface AppParts extends RouteParts {
  routes: readonly Route[];
  pages: readonly Page[];
  observe: ObserveRequest;
  /** Origins of browsers that may call; empty: none. */
  allowedOrigins: readonly string[];
  /** Addresses and networks (CIDR) whose X-Forwarded-For is believed; empty: nobody's. */
  trustedProxies: readonly string[];
}

/** The express application: what every request passes, then the table, then the answers for what is not in it. */
export function createApp(parts: AppParts): Express {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("case sensitive routing", true);
  app.set("query parser", "simple");
  app.set("trust proxy", parts.trustedProxies.length === 0 ? false : [...parts.trustedProxies]);

  const observe = observeRequests(parts.logger, parts.observe);
  // Few layers: each costs a request more than what most of these do.
  app.use((request, response, next) => {
    identify(request, response);
    observe(request, response);
    response.setHeader("Cache-Control", "no-store");
    next();
  });
  app.use(securityHeaders);
  if (parts.allowedOrigins.length > 0) app.use(crossOrigin(parts.allowedOrigins));
  const paths = byPath(parts);
  const named = byName(paths);
  app.use((request, response, next) => {
    requireOneHost(request);
    refuseLargeBodies(request);
    return named(request, response, next);
  });
  for (const [path, handlers] of paths) {
    const pattern = path.replace(/\{(\w+)\}/g, ":$1");
    const route = app.route(pattern).all((_request, response, next) => {
      response.locals.route = path;
      next();
    });
    for (const [method, handler] of Object.entries(handlers) as [Route["method"], RequestHandler][]) {
      route[method](handler);
    }
    route.all((_request, response) => refuseMethod(response, Object.keys(handlers)));
  }
  app.use(() => {
    throw new AppError("RouteNotFound");
  });
  app.use(handleProblems(parts.logger));
  return app;
}

type Handlers = Partial<Record<Route["method"], RequestHandler>>;

/** A path that is no pattern. */
const NAME = /^[\w./-]+$/;

/** Answers where the path is a row's own, letter for letter: express tries the patterns of all rows one after the other. Every other spelling of a path is left to it. */
function byName(paths: ReadonlyMap<string, Handlers>): RequestHandler {
  const named = new Map([...paths].filter(([path]) => NAME.test(path)));
  return (request, response, next) => {
    const handlers = named.get(request.path);
    if (!handlers) return next();
    response.locals.route = request.path;
    const method = request.method.toLowerCase();
    const handler = Object.hasOwn(handlers, method) ? handlers[method as Route["method"]] : undefined;
    if (handler) return handler(request, response, next);
    if (method === "head" && handlers.get) return handlers.get(request, response, next);
    return refuseMethod(response, Object.keys(handlers));
  };
}

function byPath(parts: AppParts): Map<string, Handlers> {
  const paths = new Map<string, Handlers>();
  for (const row of parts.routes) {
    const handlers = paths.get(row.path) ?? {};
    if (handlers[row.method]) throw new Error(`${row.method} ${row.path} stands twice in the route table`);
    handlers[row.method] = toExpressHandler(row, parts);
    paths.set(row.path, handlers);
  }
  for (const page of parts.pages) paths.set(page.path, { get: page.respond });
  return paths;
}

function refuseMethod(response: Response, methods: string[]): void {
  const allowed = methods.flatMap((method) => (method === "get" ? ["GET", "HEAD"] : [method.toUpperCase()]));
  response.set("Allow", allowed.join(", "));
  throw new AppError("MethodNotAllowed", { detail: `This path knows ${allowed.join(", ")}` });
}

function identify(request: Request, response: Response): void {
  const identity = identifyRequest(request.headers);
  Object.assign(response.locals, identity);
  response.setHeader("X-Request-Id", identity.requestId);
}

/** RFC 9112, section 3.2: whoever routes by the Host must see the same one as everybody before and after. */
function requireOneHost(request: Request): void {
  const hosts = headerValues(request, "host");
  if (hosts.length > 1 || (hosts.length === 0 && request.httpVersion !== "1.0")) {
    throw new AppError("InvalidRequest", { detail: "Send one Host header" });
  }
}

function observeRequests(logger: Logger, observe: ObserveRequest): (request: Request, response: Response) => void {
  return (request, response) => {
    const started = process.hrtime.bigint();
    const method = request.method;
    response.once("close", () => {
      const seconds = Number(process.hrtime.bigint() - started) / 1e9;
      const route = (response.locals.route as string | undefined) ?? "none";
      // 499, as nginx has it: the client did not wait for the answer.
      const status = response.writableFinished ? response.statusCode : 499;
      observe({ method, route, status, seconds });
      const { requestId, trace } = response.locals as RequestIdentity;
      const { traceId } = trace;
      const durationMs = Math.round(seconds * 1e3);
      const reason = response.locals.reason as string | undefined;
      logger.info({ requestId, traceId, method, route, status, reason, durationMs }, "request");
    });
  };
}

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
  // The handler answers every OPTIONS; one that is no preflight is a verb like any other.
  return (request, response, next) => {
    const { origin, "access-control-request-method": wanted } = request.headers;
    const isPreflight = origin !== undefined && wanted !== undefined;
    if (request.method === "OPTIONS" && !isPreflight) next();
    else handle(request, response, next);
  };
}
