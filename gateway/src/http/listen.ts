import { createServer, type RequestListener, type Server } from "node:http";
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
    handle(request, response);
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
