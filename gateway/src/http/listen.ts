import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { AppError, type Reason } from "@countersign/core";
import { splitAddress } from "@countersign/runtime";
import { SLOW_CLIENT_LIMITS } from "./body.ts";
import { problemOf } from "./problems.ts";

/** A listening server and its end. */
export interface HttpListener {
  port: number;
  /** Takes no new connections, lets running requests finish for `drainMs`, then cuts them off. */
  close(drainMs: number): Promise<void>;
}

/** A request and its answer, on a connection that may have several of them. */
interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

/** Serves HTTP at host:port. Rejects where the port is taken. */
export async function listenHttp(handle: RequestListener, address: string): Promise<HttpListener> {
  let closing = false;
  const exchanges = new WeakMap<Duplex, Exchange[]>();
  // The application says itself what is wrong about a Host, in a problem document.
  const server: Server = createServer({ ...SLOW_CLIENT_LIMITS, requireHostHeader: false }, (request, response) => {
    exchanges.set(request.socket, [...underWay(exchanges.get(request.socket)), { request, response }]);
    // Whoever keeps a connection open must look for another server now.
    if (closing) response.setHeader("Connection", "close");
    // Those that ran already when closing began leave an idle connection behind.
    response.once("close", () => {
      exchanges.set(request.socket, underWay(exchanges.get(request.socket)));
      if (closing) setImmediate(() => server.closeIdleConnections());
    });
    handle(request, response);
  });
  // An expectation that is unknown may be ignored (RFC 9110, section 10.1.1).
  server.on("checkExpectation", (request, response) => void server.emit("request", request, response));
  const refuse = (socket: Duplex, reason: Reason) => {
    if (socket.writable && mayAnswer(underWay(exchanges.get(socket)))) sendRefusal(socket, reason);
    else socket.destroy();
  };
  server.on("connect", (_request, socket) => refuse(socket, "MethodNotAllowed"));
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (error.code === "ECONNRESET") socket.destroy();
    else refuse(socket, REASONS_OF_CODES[error.code ?? ""] ?? "InvalidRequest");
  });
  const { host, port } = splitAddress(address);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const bound = server.address();
  return {
    port: typeof bound === "object" && bound !== null ? bound.port : port,
    async close(drainMs) {
      closing = true;
      const force = setTimeout(() => server.closeAllConnections(), drainMs);
      await new Promise<void>((resolve) => server.close(() => resolve()));
      clearTimeout(force);
    },
  };
}

/** Exchanges that have not ended: the request still comes, or the answer still goes. */
const underWay = (known: readonly Exchange[] = []): Exchange[] =>
  known.filter(({ request, response }) => !(request.complete && response.writableFinished));

/**
 * Whether what is said now would be taken for the answer to what is broken. While an earlier answer is owed it would be taken for that
 * one; a body that does not end is the one thing that may be broken off before its own answer.
 */
const mayAnswer = ([exchange, ...others]: readonly Exchange[]): boolean =>
  exchange === undefined || (others.length === 0 && !exchange.request.complete && !exchange.response.headersSent);

const REASONS_OF_CODES: Record<string, Reason> = {
  ERR_HTTP_REQUEST_TIMEOUT: "RequestTimeout",
  HPE_HEADER_OVERFLOW: "HeadersTooLarge",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "PayloadTooLarge",
};

/** Answers what is no HTTP request, or did not become one in time: the application never sees it. */
function sendRefusal(socket: Duplex, reason: Reason): void {
  const requestId = randomUUID();
  const problem = problemOf(new AppError(reason), requestId);
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
