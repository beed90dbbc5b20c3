import { createServer, type RequestListener, type Server } from "node:http";
import type { Duplex } from "node:stream";
import { splitAddress } from "@countersign/service-kit";
import { SLOW_CLIENT_LIMITS } from "./limits.ts";

/** A listening server and its end. */
export interface HttpListener {
  port: number;
  /** Takes no new connections, lets running requests finish for `drainMs`, then cuts them off. */
  close(drainMs: number): Promise<void>;
}

/** Serves HTTP at host:port. Rejects where the port is taken. */
export async function listenHttp(handle: RequestListener, address: string): Promise<HttpListener> {
  let closing = false;
  const server: Server = createServer(SLOW_CLIENT_LIMITS, (request, response) => {
    // Whoever keeps a connection open must look for another server now.
    if (closing) response.setHeader("Connection", "close");
    // Those that ran already when closing began leave an idle connection behind.
    response.once("close", () => {
      if (closing) setImmediate(() => server.closeIdleConnections());
    });
    handle(request, response);
  });
  server.on("clientError", refuseBrokenRequest);
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

/** Answers what is no HTTP request, or did not become one in time: the application never sees it. */
function refuseBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const [status, title] =
    error.code === "ERR_HTTP_REQUEST_TIMEOUT"
      ? [408, "Request Timeout"]
      : error.code === "HPE_HEADER_OVERFLOW"
        ? [431, "Request Header Fields Too Large"]
        : [400, "Bad Request"];
  const body = JSON.stringify({ type: "about:blank", title, status });
  const head = ["Connection: close", "Content-Type: application/problem+json", `Content-Length: ${body.length}`];
  socket.end(`HTTP/1.1 ${status} ${title}\r\n${head.join("\r\n")}\r\n\r\n${body}`);
}
