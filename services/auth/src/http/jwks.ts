import { createServer } from "node:https";
import type { TLSSocket } from "node:tls";
import { closeServer, internalName, listenAt, type TlsMaterial, type Watched } from "@countersign/core";

interface JwksServerOptions {
  /** host:port. */
  readonly listen: string;
  readonly tls: Watched<TlsMaterial>;
  /** Keys of access tokens, and of identity tokens. */
  readonly published: Readonly<Record<"tokens" | "identity", () => Promise<Record<string, string>[]>>>;
}

const GATEWAY = `DNS:${internalName("gateway")}`;

const PATHS = new Map<string | undefined, "tokens" | "identity">([
  ["/.well-known/jwks.json", "tokens"],
  ["/.well-known/identity-keys.json", "identity"],
]);

/**
 * Serves the two documents of public keys (RFC 7517) over HTTPS with mutual TLS, for the gateway, which
 * serves a copy. Each request has a connection of its own, whose certificates are those in use.
 */
export async function startJwksServer({ listen, tls, published }: JwksServerOptions) {
  const version = { minVersion: "TLSv1.3" } as const;
  const server = createServer(
    { ...tls.current(), ...version, requestCert: true, rejectUnauthorized: true },
    async (request, response) => {
      const answer = (status: number, body: unknown) =>
        response
          .writeHead(status, {
            connection: "close",
            "content-type": "application/json",
            "cache-control": status === 200 ? "public, max-age=60" : "no-store",
          })
          .end(JSON.stringify(body));
      try {
        const { subjectaltname } = (request.socket as TLSSocket).getPeerCertificate();
        if (subjectaltname !== GATEWAY) return void answer(403, {});
        const name = PATHS.get(request.url);
        if (request.method !== "GET" || name === undefined) return void answer(404, {});
        answer(200, { keys: await published[name]() });
      } catch {
        if (!response.headersSent) answer(503, {});
      }
    },
  );
  const end = tls.onChange((material) => server.setSecureContext({ ...material, ...version }));
  await listenAt(server, listen);
  return {
    close(): Promise<void> {
      end();
      return closeServer(server);
    },
  };
}
