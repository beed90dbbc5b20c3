import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import type { AddressInfo, Server } from "node:net";

/** Splits "host:port". */
export function splitAddress(address: string): { host: string; port: number } {
  const at = address.lastIndexOf(":");
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ""), port: Number(address.slice(at + 1)) };
}

/** Has a server listen at "host:port". Returns the port. Rejects where it is in use. */
export async function listenAt(server: Server, address: string): Promise<number> {
  const { host, port } = splitAddress(address);
  server.listen(port, host);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Closes a server and its connections, also those in use. */
export const closeServer = (server: Server & Pick<HttpServer, "closeAllConnections">): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
