import { once } from "node:events";
import { createServer } from "node:https";
import type { TLSSocket } from "node:tls";
import { internalName, type TlsMaterial } from "@countersign/core";
import { splitAddress } from "@countersign/runtime";

export interface JwksServerOptions {
  /** host:port. */
  readonly listen: string;
  readonly tls: TlsMaterial;
  published(): Promise<Record<string, string>[]>;
}

const GATEWAY = `DNS:${internalName("gateway")}`;

/**
 * Serves GET /.well-known/jwks.json (RFC 7517) over HTTPS with mutual TLS, for the gateway, which serves a
 * copy.
 */
export async function startJwksServer({ listen, tls, published }: JwksServerOptions) {
  const server = createServer(
    { ...tls, requestCert: true, rejectUnauthorized: true, minVersion: "TLSv1.3" },
    async (request, response) => {
      const answer = (status: number, body: unknown) =>
        response
          .writeHead(status, {
            "content-type": "application/json",
            "cache-control": status === 200 ? "public, max-age=60" : "no-store",
          })
          .end(JSON.stringify(body));
      try {
        const { subjectaltname } = (request.socket as TLSSocket).getPeerCertificate();
        if (subjectaltname !== GATEWAY) return void answer(403, {});
        if (request.method !== "GET" || request.url !== "/.well-known/jwks.json") return void answer(404, {});
        answer(200, { keys: await published() });
      } catch {
        if (!response.headersSent) answer(503, {});
      }
    },
  );
  const { host, port } = splitAddress(listen);
  server.listen(port, host);
  await once(server, "listening");
  return {
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
