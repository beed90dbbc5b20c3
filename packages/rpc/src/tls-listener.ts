import { createHash } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { splitAddress, type TlsMaterial, type Watched } from "@countersign/core";
import { experimental, type Server } from "@grpc/grpc-js";
import { certificateProvider } from "./certificate-provider.ts";

/**
 * Milliseconds for which clients may go on using their connections after a CA was removed. Their calls and
 * streams then have half as long to end.
 */
const MOVE_MS = 60_000;

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

const authoritiesOf = ({ ca }: TlsMaterial): Set<string> =>
  new Set(
    (ca.toString("latin1").match(PEM) ?? []).map((pem) =>
      createHash("sha256").update(pem.replace(/\s/g, "")).digest("hex"),
    ),
  );

/**
 * Listens on "host:port" and gives the connections to `server`, each with the certificates that are in use
 * when it comes. Once a CA has been removed, older connections are ended: their clients may have been
 * verified by it. Clients of ours have moved to new connections by then (connections.ts).
 */
export async function listenTls(server: Server, address: string, tls: Watched<TlsMaterial>, moveMs = MOVE_MS) {
  const provider = certificateProvider(tls);
  const credentials = experimental.createCertificateProviderServerCredentials(provider, provider, true);
  let connections = server.createConnectionInjector(credentials);
  // The provider gives the first certificates in the next tick.
  await new Promise((resolve) => void setImmediate(resolve));
  let trusted = authoritiesOf(tls.current());
  const end = tls.onChange((material) => {
    const before = trusted;
    trusted = authoritiesOf(material);
    if ([...before].every((authority) => trusted.has(authority))) return;
    const older = connections;
    connections = server.createConnectionInjector(credentials);
    setTimeout(() => {
      older.drain(moveMs / 2);
      setTimeout(() => older.destroy(), moveMs).unref();
    }, moveMs).unref();
  });
  const { host, port } = splitAddress(address);
  const listener = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    connections.injectConnection(socket);
  });
  listener.listen(port, host);
  await once(listener, "listening");
  return {
    port: (listener.address() as AddressInfo).port,
    /** Takes no further connections. */
    close(): void {
      end();
      listener.close();
    },
  };
}
