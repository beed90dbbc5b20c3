import { generateKeyPairSync } from "node:crypto";
import { createTokenState, createTokenVerifier } from "@countersign/access-tokens";
import { uuidv4, uuidv7 } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { generateKeyPair } from "@countersign/keys/node";
import { jwtVerify } from "jose";
import { describe, expect, it } from "vitest";
import { beginSession, REFRESH_TOKEN_MS, SESSION_MS } from "../domain/sessions/session.ts";
import type { TwoFactorSignIn } from "../domain/two-factor/two-factor-sign-in.ts";
import { createTokens } from "./tokens.ts";

const ISSUER = "https://auth.example";
const newKeys = () => generateKeyPairSync("ec", { namedCurve: "P-256" });

/** Returns what auth issues with, and the verification of its access tokens. */
function world() {
  const clock = new FixedClock("2026-11-20T10:00:00Z");
  const [{ privateKey, publicKey }, identity] = [newKeys(), newKeys()];
  const keys = { signingKey: async () => ({ kid: "k", key: privateKey }), verificationKey: async () => undefined };
  const identityKeys = { signingKey: async () => ({ kid: "i", key: identity.privateKey }) };
  const tokens = createTokens({ keys, identityKeys, issuer: ISSUER, clock });
  const state = createTokenState({ clock });
  const tokenKeys = [{ kid: "k", jwkJson: JSON.stringify(publicKey.export({ format: "jwk" })) }];
  state.apply({ cursor: "", reset: true, complete: true, tokenKeys, entries: Buffer.alloc(0) });
  const { verify } = createTokenVerifier(state, { issuer: ISSUER, clock });
  const start = {
    id: uuidv7(clock),
    refreshId: uuidv4(),
    accountId: uuidv7(clock),
    app: { appId: "demo", appName: "Demo" },
    deviceKey: generateKeyPair("EdDSA").publicKey,
    accountKey: generateKeyPair("ES256K").publicKey,
  };
  return { clock, tokens, verify, start, identityKey: identity.publicKey };
}

it.each(["full", "recover"] as const)(
  "an access token of a %s session is as its session, for 15 minutes",
  async (scope) => {
    const { clock, tokens, verify, start } = world();
    const { accessToken } = await tokens.issue(beginSession({ ...start, authTime: undefined }, clock.now(), scope));
    const { accountId, id: sessionId, deviceKey, accountKey } = start;
    const issuedAt = clock.now();
    const expiresAt = new Date(issuedAt.getTime() + 15 * 60_000);
    const expected = { accountId, sessionId, appId: "demo", scope, deviceKey, accountKey, issuedAt, expiresAt };
    expect(verify(accessToken)).toEqual(expected);
  },
);

it("an identity token is for the app's backend, with its nonce, for five minutes; it is no access token", async () => {
  const { clock, tokens, verify, start, identityKey } = world();
  const authTime = new Date(clock.now().getTime() - 60_000);
  for (const known of [authTime, undefined]) {
    const { accessToken } = await tokens.issue(beginSession({ ...start, authTime: known }, clock.now()));
    const { identityToken, expiresAt } = await tokens.issueIdentity(verify(accessToken), "a nonce");
    const options = { issuer: ISSUER, audience: "demo", typ: "identity+jwt", currentDate: clock.now() };
    const { payload } = await jwtVerify(identityToken, identityKey, options);
    const exp = clock.now().getTime() / 1000 + 300;
    const auth_time = known && known.getTime() / 1000;
    expect(payload).toMatchObject({ sub: start.accountId, sid: start.id, nonce: "a nonce", exp });
    expect([payload.auth_time, expiresAt.getTime()]).toEqual([auth_time, exp * 1000]);
    expect(() => verify(identityToken)).toThrow(expect.objectContaining({ reason: "InvalidAccessToken" }));
  }
});

it("an ephemeral token names its request and both keys of the new device, and ends with the request", async () => {
  const { clock, tokens, verify, start } = world();
  const now = clock.now();
  const expiresAt = new Date(now.getTime() + 300_000);
  const signIn = { ...start, tokenId: uuidv4(), authTime: now, expiresAt } as unknown as TwoFactorSignIn;
  const first = await tokens.issueEphemeral(signIn);
  expect(verify(first).authTime).toEqual(now);
  expect(verify(await tokens.issueEphemeral({ ...signIn, authTime: undefined })).authTime).toBeUndefined();
  expect(verify(first)).toMatchObject({
    accountId: signIn.accountId,
    sessionId: signIn.id,
    twoFactorId: signIn.id,
    scope: "sign",
    deviceKey: signIn.deviceKey,
    accountKey: signIn.accountKey,
    expiresAt: signIn.expiresAt,
  });
  clock.advance(60_000);
  const again = await tokens.issueEphemeral(signIn);
  expect(verify(again).expiresAt).toEqual(signIn.expiresAt);
  clock.advance(240_000);
  for (const token of [first, again]) {
    expect(() => verify(token)).toThrow(expect.objectContaining({ reason: "AccessTokenExpired" }));
  }
});

describe("reading a refresh token", () => {
  const clock = new FixedClock("2026-11-20T10:00:00Z");
  const { privateKey, publicKey } = newKeys();
  const keys = {
    signingKey: async () => ({ kid: "k", key: privateKey }),
    verificationKey: async (kid: string) => (kid === "k" ? publicKey : undefined),
  };
  const { issue, readRefreshToken } = createTokens({ keys, identityKeys: keys, issuer: ISSUER, clock });
  const { publicKey: deviceKey } = generateKeyPair();
  const session = beginSession(
    {
      id: uuidv7(clock),
      refreshId: uuidv4(),
      accountId: uuidv7(clock),
      app: { appId: "demo", appName: "Demo" },
      deviceKey,
      accountKey: deviceKey,
      authTime: clock.now(),
    },
    clock.now(),
  );

  it("distinguishes one that has expired from anything that never was one", async () => {
    const { refreshToken, accessToken } = await issue(session);
    expect(await readRefreshToken(refreshToken)).toEqual({
      sessionId: session.id,
      accountId: session.accountId,
      refreshId: session.refreshId,
    });
    clock.advance(REFRESH_TOKEN_MS);
    expect(await readRefreshToken(refreshToken)).toBe("expired");
    // Only for a token that auth signed it says so.
    const [header, payload, signature] = refreshToken.split(".");
    const edited = `${signature!.slice(0, -10)}${signature!.at(-10) === "A" ? "B" : "A"}${signature!.slice(-9)}`;
    for (const other of [`${header}.${payload}.${edited}`, `${header}.${payload}.`, "garbage"]) {
      expect(await readRefreshToken(other)).toBeUndefined();
    }
    expect(await readRefreshToken(accessToken)).toBe("access-token");
  });

  it("does not believe an expired one of another issuer", async () => {
    const elsewhere = createTokens({ keys, identityKeys: keys, issuer: "https://evil.example", clock });
    const { refreshToken } = await elsewhere.issue(session);
    clock.advance(SESSION_MS);
    expect(await readRefreshToken(refreshToken)).toBeUndefined();
  });
});
