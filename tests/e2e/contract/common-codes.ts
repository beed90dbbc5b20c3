import { randomUUID } from "node:crypto";
import type { Reason } from "@countersign/core";
import { expect } from "vitest";
import { mintAccessToken, query } from "../../security/token-forge.ts";
import { newPhone } from "../../support/person.ts";
import { type Answer, exchange } from "./exchange.ts";
import type { Operation } from "./openapi.ts";
import { once } from "./people.ts";

/** A code that another test provokes; tests/answers checks that the gateway really answered it. */
export interface Elsewhere {
  file: string;
}

/** A code that no test provokes, and why. */
export interface Unprovoked {
  because: string;
}

export type Provoked = (() => Promise<Answer>) | Elsewhere | Unprovoked;

/** Errors that only a broken part causes; other tests break these parts. */
const WHEN_BROKEN = {
  Unavailable: { file: "gateway/src/main.test.ts" },
  DeadlineExceeded: { file: "packages/rpc/src/calls.test.ts" },
  Internal: { file: "gateway/src/http/app.test.ts" },
} as const;

/** Errors of HTTP itself, on any path. */
const OF_ANY_REQUEST = {
  InvalidRequest: { file: "gateway/src/http/app.test.ts" },
  MethodNotAllowed: { file: "gateway/src/http/app.test.ts" },
  RequestTimeout: { file: "gateway/src/http/listen.test.ts" },
  PayloadTooLarge: { file: "gateway/src/http/app.test.ts" },
  HeadersTooLarge: { file: "gateway/src/http/listen.test.ts" },
} as const;

/** Mints a token with these claims for an account that does not exist: no real account is affected. */
export const nobodysToken = (claims: Record<string, unknown> = {}): Promise<string> =>
  mintAccessToken({ accountId: randomUUID(), deviceKey: newPhone().deviceKey }, claims);

/** Returns the token of an ended session, once every service has received the end. */
const endedToken = once(async () => {
  const sid = randomUUID();
  const token = await nobodysToken({ sid });
  await query(
    "auth",
    `WITH head AS (UPDATE token_state_head SET position = position + 1 WHERE bucket = 0 RETURNING *)
     INSERT INTO token_state_entry (bucket, kind, subject, active, until, position)
     SELECT bucket, 'session', $1, true, now() + interval '16 minutes', position FROM head`,
    [sid],
  );
  // The body is invalid: otherwise a service could refuse before the gateway has received the end.
  const ended = async () => (await exchange("signTransaction", { token, body: [] })).body.error;
  await expect.poll(ended, { timeout: 5_000, interval: 100 }).toBe("SessionEnded");
  return token;
});

/** Returns the errors that follow from what an operation reads; all operations provoke them alike. */
export function commonCodes({ operationId, token, readsBody, codes }: Operation): Partial<Record<Reason, Provoked>> {
  const call = exchange.bind(undefined, operationId);
  const good = async () => (token === "none" ? undefined : await nobodysToken());
  const withToken = async (claims: Record<string, unknown>) => call({ token: await nobodysToken(claims) });
  const past = Math.floor(Date.now() / 1000) - 3600;
  return {
    ...WHEN_BROKEN,
    ...OF_ANY_REQUEST,
    ...(token === "required" && { Unauthenticated: () => call() }),
    ...(token === "required" && {
      InvalidAccessToken: () => call({ token: "a.b.c" }),
      AccessTokenExpired: () => withToken({ iat: past - 900, exp: past }),
      SessionEnded: async () => call({ token: await endedToken() }),
    }),
    ...(token === "required" &&
      codes.includes("InsufficientScope") && {
        InsufficientScope: () => withToken({ scope: operationId === "finishTwoFactor" ? "recover" : "sign" }),
      }),
    ...(readsBody && {
      InvalidRequest: async () => call({ token: await good(), body: [] }),
      PayloadTooLarge: async () => call({ token: await good(), body: { pad: "x".repeat(65_536) } }),
      UnsupportedMediaType: async () =>
        call({ token: await good(), body: "x", headers: { "content-type": "text/plain" } }),
    }),
  };
}
