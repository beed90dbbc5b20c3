import { createServer, type Socket } from "node:net";
import { createCaRemoval, listenAt, type TlsMaterial, type Watched } from "@countersign/core";
import { experimental, type Server } from "@grpc/grpc-js";
import { certificateProvider } from "./certificate-provider.ts";

/**
 * Milliseconds for which clients may go on using their connections after a CA was removed. Their calls and
 * streams then have half as long to end.
 */
const MOVE_MS = 60_000;
/** Milliseconds that a handshake takes at most, as a rule. */
const HANDSHAKE_MS = 100;

/**
 * Listens on "host:port" and gives the connections to `server`, each with the certificates that are in use
 * when it comes. Once a CA has been removed, older connections are ended: their clients may have been
 * verified by it. Clients of ours have moved to new connections by then (connections.ts).
 */
export async function listenTls(server: Server, address: string, tls: Watched<TlsMaterial>, moveMs = MOVE_MS) {
  const provider = certificateProvider(tls);
  const credentials = experimental.createCertificateProviderServerCredentials(provider, provider, true);
  const create = () => ({ injector: server.createConnectionInjector(credentials), sockets: new Set<Socket>() });
  const accepted = new Set<Socket>();
  let connections = create();
  // The provider gives the first certificates in the next tick.
  await new Promise((resolve) => void setImmediate(resolve));
  const removesCa = createCaRemoval(tls.current());
  const end = tls.onChange((material) => {
    if (!removesCa(material)) return;
    const older = connections;
    connections = create();
    setTimeout(() => {
      older.injector.drain(moveMs / 2);
      // Also one whose handshake began before the change, and has not ended yet.
      setTimeout(() => {
        for (const socket of older.sockets) socket.destroy();
        older.injector.destroy();
      }, moveMs / 2).unref();
    }, moveMs).unref();
  });
  const listener = createServer((socket) => {
    const { injector, sockets } = connections;
    sockets.add(socket);
    accepted.add(socket);
    socket.on("error", () => socket.destroy());
    socket.once("close", () => void (sockets.delete(socket) && accepted.delete(socket)));
    injector.injectConnection(socket);
  });
  return {
    port: await listenAt(listener, address),
    /** Takes no further connections, and waits for handshakes that have begun: grpc-js does not know them. */
    async close(): Promise<void> {
      end();
      listener.close();
      await new Promise((resolve) => void setTimeout(resolve, HANDSHAKE_MS));
    },
    /** Resolves once every connection has ended: with its last call, since the server shuts down. */
    async ended(): Promise<void> {
      await Promise.all([...accepted].map((socket) => new Promise((resolve) => void socket.once("close", resolve))));
    },
    /** Ends connections that are left. */
    destroy(): void {
      for (const socket of accepted) socket.destroy();
    },
  };
}
