import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import {
  AppError,
  type Clock,
  chainNamed,
  countUnderWay,
  type Logger,
  limitPerMinute,
  type TokenVerifier,
  type Watched,
} from "@countersign/core";
import type { Request, RequestHandler, Response } from "express";
import { createProxyMiddleware } from "http-proxy-middleware";
import { authenticate } from "../http/authenticate.ts";
import { sendProblem } from "../http/problems.ts";
import type { ChainNode, ChainNodes } from "./chain-nodes-file.ts";
import { readChainRequest } from "./chain-requests.ts";

export interface ChainProxyOptions {
  /** By chain name. */
  nodes: Watched<ChainNodes>;
  verifier: TokenVerifier;
  clock: Clock;
  logger: Logger;
  /** Requests of one device in a minute of this process. */
  perMinute: number;
}

/** Milliseconds that a node may be silent. */
const NODE_TIMEOUT_MS = 10_000;
/** Milliseconds of a whole exchange: a client that sends or reads slowly holds no connection longer. */
const EXCHANGE_MS = 15_000;
/** Connections to one node; far more than the devices of an account can hold. */
const MAX_SOCKETS = 1_024;
/** Requests of one device at the same time in this process. */
const MAX_UNDER_WAY = 8;
/** Headers of a request that a node gets, beside those of its own connection and of the provider. */
const REQUEST_HEADERS = ["accept", "content-type", "content-length"];
const ANSWER_HEADERS = ["content-type", "content-length"];
/** Every session may read the chain and submit: also an ephemeral one, and a recovery key's. */
const TOKEN_RULE = { token: "ephemeral", recover: true } as const;

/**
 * Creates the handler below `/chain/v1`. It passes requests to chain nodes on, so that apps need one base URL
 * and no provider's key: those of `readChainRequest`, with an access token and within its device's limit.
 * The node gets no token, cookie or address of the client; the client gets the node's body and type.
 * Errors: RouteNotFound, UnknownChain, InvalidRequest, UnsupportedMediaType, those of the access token,
 * RateLimited, Unavailable.
 */
export function createChainProxy({ nodes, verifier, clock, logger, perMinute }: ChainProxyOptions): RequestHandler {
  const limit = limitPerMinute(clock);
  const underWay = countUnderWay();
  const proxyOf = nodeProxies(nodes, logger);
  return (request, response, next) => {
    const found = readChainRequest(request.method, request.url);
    if (found === undefined) throw new AppError("RouteNotFound");
    response.locals.route = `/chain/v1/{chainName}${found.pattern}`;
    response.locals.takesToken = true;
    const authorizations = request.headersDistinct.authorization ?? [];
    const { accountId = "", limitId = accountId } = authenticate(TOKEN_RULE, authorizations, verifier);
    response.locals.accountId = accountId;
    limit(limitId, perMinute);
    requirePlainBody(request);
    const proxy = proxyOf(found.chainName);
    limitExchange(underWay, limitId, response);
    request.url = found.path;
    const { headers } = request;
    request.headers = Object.fromEntries(
      REQUEST_HEADERS.flatMap((name) => (headers[name] ? [[name, headers[name]]] : [])),
    );
    return proxy(request, response, next);
  };
}

/**
 * Returns what gives the proxy of a chain. One whose node has not changed stays, with its connections.
 * Errors: UnknownChain.
 */
function nodeProxies(nodes: Watched<ChainNodes>, logger: Logger) {
  const proxies = new Map<string, { node: ChainNode; proxy: ReturnType<typeof createNodeProxy> }>();
  return (chainName: string) => {
    const node = chainNamed(nodes.current(), chainName);
    let known = proxies.get(chainName);
    if (known === undefined || (known.node !== node && JSON.stringify(known.node) !== JSON.stringify(node))) {
      known = { node, proxy: createNodeProxy(node, logger) };
      proxies.set(chainName, known);
    }
    return known.proxy;
  };
}

/**
 * Limits the requests under way of a device, recovery key or ephemeral token, and the time of each.
 * Errors: RateLimited.
 */
function limitExchange(underWay: ReturnType<typeof countUnderWay>, limitId: string, response: Response): void {
  if (underWay.of(limitId) >= MAX_UNDER_WAY) throw new AppError("RateLimited", { retryAfterSeconds: 1 });
  const end = underWay.begin(limitId);
  const timer = setTimeout(() => response.destroy(), EXCHANGE_MS);
  response.once("close", () => {
    clearTimeout(timer);
    end();
  });
}

/** Requires a body of known length where one belongs, and none elsewhere: nothing can follow it unseen. */
function requirePlainBody({ method, headers }: Request): void {
  const length = Number(headers["content-length"] ?? 0);
  if (headers["transfer-encoding"] !== undefined || (method === "POST") !== length > 0)
    throw new AppError("InvalidRequest", {
      detail: method === "POST" ? "Send a body with Content-Length" : "This path takes no body",
    });
  if (method === "POST" && headers["content-type"]?.split(";")[0]?.trim() !== "application/json")
    throw new AppError("UnsupportedMediaType", { detail: "Send application/json" });
}

function createNodeProxy({ url, headers }: ChainNode, logger: Logger) {
  const unavailable = (response: Response, err: unknown) => {
    const { requestId, trace, accountId } = response.locals;
    logger.warn({ err, requestId, traceId: trace.traceId, accountId }, "a chain node gave no usable answer");
    if (response.headersSent) response.destroy();
    else sendProblem(response, new AppError("Unavailable", { retryAfterSeconds: 1 }));
  };
  const { Agent } = url.startsWith("https:") ? https : http;
  return createProxyMiddleware<Request, Response>({
    target: url,
    headers,
    agent: new Agent({ keepAlive: true, maxSockets: MAX_SOCKETS }),
    changeOrigin: true,
    xfwd: false,
    proxyTimeout: NODE_TIMEOUT_MS,
    selfHandleResponse: true,
    // Its own error handler answers with a text.
    ejectPlugins: true,
    plugins: [
      (server) => {
        server.on("proxyRes", (answer, _request, response) => passOn(answer, response, unavailable));
        server.on("error", (error, _request, response) => unavailable(response as Response, error));
      },
    ],
  });
}

/** Sends a node's answer; Unavailable where it concerns the gateway, such as a rejected provider key. */
function passOn(
  answer: IncomingMessage,
  response: Response,
  unavailable: (response: Response, err: unknown) => void,
): void {
  const { statusCode = 0, headers } = answer;
  const isAnswer = (statusCode >= 200 && statusCode < 300) || statusCode === 400 || statusCode === 404;
  if (!isAnswer) {
    answer.resume();
    unavailable(response, new Error(`the chain node answered ${statusCode}`));
    return;
  }
  response.status(statusCode);
  for (const name of ANSWER_HEADERS) if (headers[name] !== undefined) response.setHeader(name, headers[name]);
  answer.once("error", () => response.destroy());
  answer.pipe(response);
}
