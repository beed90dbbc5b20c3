import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import {
  AppError,
  type Clock,
  type Logger,
  readBody,
  splitAddress,
  type TlsMaterial,
  type Watched,
} from "@countersign/core";
import { z } from "zod";

/** Where auth publishes its token keys: its HTTPS listener with mutual TLS. */
export interface TokenKeysUpstream {
  /** host:port. */
  address: string;
  /** The name in auth's certificate. */
  serverName: string;
  tls: Watched<TlsMaterial>;
  /** The document with the keys of access tokens, or of identity tokens. */
  path: KeysPath;
}

export type KeysPath = "/.well-known/jwks.json" | "/.well-known/identity-keys.json";

export interface TokenKeysSource {
  /**
   * Returns public keys as JSON text (RFC 7517), from memory while it is fresh, and for how many seconds it
   * may be cached. Errors: Unavailable.
   */
  read(): Promise<{ text: string; maxAgeSeconds: number }>;
  /** Ends a running fetch. */
  close(): void;
}

/** A document is fresh for as long as auth allows, at most for this time: new keys must be published soon. */
const MAX_FRESH_MS = 60_000;
/** An expired document is served for this long while auth does not answer. */
const MAX_STALE_MS = 10 * 60_000;
/** Pause after a failed fetch, so that not every request waits for an auth service that is down. */
const RETRY_MS = 5_000;
const FETCH_MS = 3_000;
const MAX_BYTES = 64 * 1024;

const jwks = z.object({ keys: z.array(z.record(z.string(), z.unknown())) });

/** Fetches auth's token keys in its own requests, one at a time, and keeps the last document in memory. */
export function createTokenKeysSource(
  upstream: TokenKeysUpstream,
  { clock, logger }: { clock: Clock; logger: Logger },
): TokenKeysSource {
  const closing = new AbortController();
  let known: { text: string; fetchedAt: number; freshMs: number } | undefined;
  let failedAt = Number.NEGATIVE_INFINITY;
  let fetching: Promise<void> | undefined;

  async function refresh(): Promise<void> {
    try {
      const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(FETCH_MS)]);
      const { text, maxAgeMs } = await fetchDocument(upstream, signal);
      known = { text, fetchedAt: clock.now().getTime(), freshMs: Math.min(maxAgeMs, MAX_FRESH_MS) };
    } catch (error) {
      failedAt = clock.now().getTime();
      logger.warn({ err: error }, "cannot fetch the token keys from auth");
    } finally {
      fetching = undefined;
    }
  }

  // Where the clock was set back, a time is in the future: it counts as long ago.
  const isWithin = (since: number, ms: number): boolean => {
    const age = clock.now().getTime() - since;
    return age >= 0 && age < ms;
  };

  return {
    async read() {
      if (known === undefined || !isWithin(known.fetchedAt, known.freshMs)) {
        if (fetching === undefined && !isWithin(failedAt, RETRY_MS)) fetching = refresh();
        await fetching;
      }
      if (known === undefined || !isWithin(known.fetchedAt, known.freshMs + MAX_STALE_MS)) {
        throw new AppError("Unavailable", { retryAfterSeconds: RETRY_MS / 1000 });
      }
      const freshForMs = known.fetchedAt + known.freshMs - clock.now().getTime();
      return { text: known.text, maxAgeSeconds: Math.ceil((freshForMs > 0 ? freshForMs : RETRY_MS) / 1000) };
    },
    close() {
      closing.abort();
    },
  };
}

/**
 * Fetches the document once, on a connection of its own: both sides verify the certificates in use. No part
 * of a client's request is in this request, which has no body.
 */
async function fetchDocument(
  { address, serverName: servername, tls, path }: TokenKeysUpstream,
  signal: AbortSignal,
): Promise<{ text: string; maxAgeMs: number }> {
  const headers = { host: servername, accept: "application/json" };
  const secure = { ...tls.current(), servername, minVersion: "TLSv1.3", agent: false } as const;
  const outgoing = request({ ...splitAddress(address), ...secure, path, headers, signal });
  // A connection that breaks later ends the answer with an error as well.
  outgoing.on("error", () => undefined).end();
  const [response] = (await once(outgoing, "response", { signal })) as [IncomingMessage];
  const body = await readBody(response, MAX_BYTES);
  if (body === undefined) throw new Error(`the document has more than ${MAX_BYTES} bytes`);
  if (response.statusCode !== 200) throw new Error(`auth answered ${response.statusCode}`);
  const { keys } = jwks.parse(JSON.parse(body.toString("utf8")));
  const maxAge = /(?:^|[ ,])max-age=(\d{1,9})/.exec(response.headers["cache-control"] ?? "")?.[1];
  return { text: JSON.stringify({ keys }), maxAgeMs: Number(maxAge ?? 0) * 1000 };
}
