import { generateKeyPairSync } from "node:crypto";
import { createTokenState, createTokenVerifier } from "@countersign/access-tokens";
import { uuidv4, uuidv7 } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import { beginSession, REFRESH_TOKEN_MS, SESSION_MS } from "../domain/sessions/session.ts";
import type { TwoFactorSignIn } from "../domain/two-factor/two-factor-sign-in.ts";
import type { TokenKeys } from "./token-keys.ts";
import { createTokens } from "./tokens.ts";

it("an ephemeral token names its request and both keys of the new device, and ends with the request", async () => {
  const clock = new FixedClock("2026-11-20T10:00:00Z");
  const now = clock.now();
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const keys = { signingKey: async () => ({ kid: "k", key: privateKey }) } as unknown as TokenKeys;
  const issuer = "https://auth.example";
  const tokens = createTokens({ keys, identityKeys: keys, issuer, clock });
  const state = createTokenState({ clock });
  const tokenKeys = [{ kid: "k", jwkJson: JSON.stringify(publicKey.export({ format: "jwk" })) }];
  state.apply({ cursor: "", reset: true, complete: true, tokenKeys, entries: Buffer.alloc(0) });
  const { verify } = createTokenVerifier(state, { issuer, clock });

  const signIn = {
    id: uuidv7(clock),
    accountId: uuidv7(clock),
    app: { appId: "demo", appName: "Demo" },
    accountKey: generateKeyPair("ES256K").publicKey,
    deviceKey: generateKeyPair("EdDSA").publicKey,
    tokenId: uuidv4(),
    authTime: now,
    expiresAt: new Date(now.getTime() + 300_000),
  } as TwoFactorSignIn;
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
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const keys = {
    signingKey: async () => ({ kid: "k", key: privateKey }),
    verificationKey: async (kid: string) => (kid === "k" ? publicKey : undefined),
  } as unknown as TokenKeys;
  const { issue, readRefreshToken } = createTokens({ keys, identityKeys: keys, issuer: "https://auth.example", clock });
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
