import { randomUUID } from "node:crypto";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, listenAt, type Reason } from "@countersign/core";
import { problemOf } from "./problems.ts";

/**
 * Limits against slow clients: headers within 5 s, the whole request within 15 s. Answers may take longer,
 * as long as the client reads them.
 */
const SLOW_CLIENT_LIMITS: ServerOptions = {
  headersTimeout: 5_000,
  requestTimeout: 15_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 16 * 1024,
};
/** Milliseconds in which nothing moves until a connection ends; longer than any deadline or heartbeat. */
const STUCK_MS = 120_000;

/** The classes of requests and answers, where they are not Node's. */
export type MessageClasses = Pick<ServerOptions, "IncomingMessage" | "ServerResponse">;

export interface HttpListener {
  port: number;
  /**
   * Lets running requests finish for `drainMs`, then closes their connections. For the first tenth of that
   * time it still answers: clients with an idle connection learn from an answer that they must open another
   * one, instead of losing a request on a connection that closes at the same moment.
   */
  close(drainMs: number): Promise<void>;
}

/** A request and its answer; a connection may have several. */
interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

/** Serves HTTP at host:port; `errorPage` as in `problemOf`. Rejects where the port is in use. */
export async function listenHttp(
  handle: RequestListener,
  address: string,
  errorPage?: string,
  classes: MessageClasses = {},
  stuckMs = STUCK_MS,
): Promise<HttpListener> {
  let closing = false;
  let closed = false;
  const exchanges = new WeakMap<Duplex, Set<Exchange>>();
  const running = new Set<ServerResponse>();
  // The application rejects a missing Host with a problem document.
  const options = { ...SLOW_CLIENT_LIMITS, ...classes, requireHostHeader: false };
  const server: Server = createServer(options, (request, response) => {
    const exchange = { request, response };
    const ofSocket = exchanges.get(request.socket) ?? new Set();
    exchanges.set(request.socket, ofSocket.add(exchange));
    const forget = () => void (isRunning(exchange) || ofSocket.delete(exchange));
    request.once("close", forget);
    running.add(response);
    if (closing) askForAnotherConnection(response);
    // A request that was still running when the server closed its idle connections leaves another one behind.
    response.once("close", () => {
      running.delete(response);
      forget();
      if (closed) setImmediate(() => server.closeIdleConnections());
    });
    handle(request, response);
  });
  server.timeout = stuckMs;
  // An unknown expectation may be ignored (RFC 9110, section 10.1.1).
  server.on("checkExpectation", (request, response) => void server.emit("request", request, response));
  const reject = (socket: Duplex, reason: Reason) => {
    if (socket.writable && mayAnswer([...(exchanges.get(socket) ?? [])].filter(isRunning)))
      sendProblem(socket, reason, errorPage);
    else socket.destroy();
  };
  server.on("connect", (_request, socket) => reject(socket, "MethodNotAllowed"));
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    // A client that opened a connection beforehand would take an answer as the one to its first request.
    const isUnused = (socket as Socket).bytesRead === 0;
    if (error.code === "ECONNRESET" || isUnused) socket.destroy();
    else reject(socket, REASONS_OF_CODES[error.code ?? ""] ?? "InvalidRequest");
  });
  return {
    port: await listenAt(server, address),
    async close(drainMs) {
      closing = true;
      running.forEach(askForAnotherConnection);
      const force = setTimeout(() => server.closeAllConnections(), drainMs);
      await sleep(drainMs / 10);
      closed = true;
      await new Promise<void>((resolve) => server.close(() => resolve()));
      clearTimeout(force);
    },
  };
}

/** Has the client open its next connection to another server: this one ends after the answer. */
function askForAnotherConnection(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader("Connection", "close");
}

/** Returns whether an exchange has not ended: part of the request or of the answer is missing. */
const isRunning = ({ request, response }: Exchange): boolean => !(request.complete && response.writableFinished);

/**
 * Returns whether the client would take an answer as the one to the broken request. While an earlier request
 * of the connection has no answer, the client would take it as the answer to that one. A request whose body
 * does not end may be answered before it is complete.
 */
const mayAnswer = ([exchange, ...others]: readonly Exchange[]): boolean =>
  exchange === undefined || (others.length === 0 && !exchange.request.complete && !exchange.response.headersSent);

const REASONS_OF_CODES: Record<string, Reason> = {
  ERR_HTTP_REQUEST_TIMEOUT: "RequestTimeout",
  HPE_HEADER_OVERFLOW: "HeadersTooLarge",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "PayloadTooLarge",
};

/**
 * Answers input that is no HTTP request, or not a complete one in time; the application never receives it.
 */
function sendProblem(socket: Duplex, reason: Reason, errorPage: string | undefined): void {
  const requestId = randomUUID();
  const problem = problemOf(new AppError(reason), requestId, errorPage);
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${problem.status} ${reason}`,
    "Connection: close",
    "Content-Type: application/problem+json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Cache-Control: no-store",
    `X-Request-Id: ${requestId}`,
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}
