import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from "jose";
import { beforeAll, expect, it } from "vitest";
import { mintAccessToken } from "../security/token-forge.ts";
import { type Person, problemOf, signUpPerson, stack, tokenOf } from "../support/person.ts";
import { expectProblem, send } from "../support/raw-request.ts";

/** An app's backend has no more than the issuer's URL and its own app id. */
interface Discovery {
  issuer: string;
  jwks_uri: string;
  id_token_signing_alg_values_supported: string[];
  claims_supported: string[];
}
let discovery: Discovery;
let person: Person;
const accountOf = () => person.signedUp.account.id;
let verify: (token: string, audience?: string) => ReturnType<typeof jwtVerify>;

beforeAll(async () => {
  person = await signUpPerson();
  discovery = (await (await fetch(`${stack.gateway}/.well-known/openid-configuration`)).json()) as Discovery;
  const keys = createRemoteJWKSet(new URL(discovery.jwks_uri));
  const { issuer, id_token_signing_alg_values_supported: algorithms } = discovery;
  verify = (token, audience = "demo") =>
    jwtVerify(token, keys, { issuer, audience, algorithms, typ: "identity+jwt", requiredClaims: ["sub", "exp"] });
});

it("is verified by the issuer's discovery document and keys alone, and names account, device and login", async () => {
  expect(discovery.issuer).toBe(stack.gateway);
  const { identityToken, expiresAt } = await person.client.identityToken({ nonce: "n-1" });
  const { payload } = await verify(identityToken);
  const access = decodeJwt(tokenOf(person));
  expect(payload).toEqual({
    iss: stack.gateway,
    aud: "demo",
    sub: accountOf(),
    sid: access.sid,
    auth_time: access.auth_time,
    nonce: "n-1",
    device_key: { alg: "ES256", key: person.deviceKey.publicKey },
    jti: expect.any(String),
    iat: expect.any(Number),
    exp: Date.parse(expiresAt) / 1000,
  });
  expect(payload.auth_time).toEqual(expect.any(Number));
  expect(payload.exp! - payload.iat!).toBe(300);
  expect(discovery.claims_supported).toEqual(expect.arrayContaining(Object.keys(payload)));
});

it("is refused by the backend of another app, and an access token is refused by every backend", async () => {
  const { identityToken } = await person.client.identityToken({ nonce: "n-1" });
  await expect(verify(identityToken, "another-app")).rejects.toThrow('unexpected "aud"');
  const accessToken = tokenOf(person);
  await expect(verify(accessToken, "countersign")).rejects.toThrow("no applicable key found");
  const { keys } = (await (await fetch(`${stack.gateway}/.well-known/jwks.json`)).json()) as {
    keys: { kid: string }[];
  };
  expect(keys.map(({ kid }) => kid)).not.toContain(decodeProtectedHeader(identityToken).kid);
});

it("opens nothing here: no operation, no refresh, no sign-up, no node of the chain", async () => {
  const { identityToken: token } = await person.client.identityToken({ nonce: "n-1" });
  expectProblem(await send({ method: "GET", path: "/account/v1/me", token }), 401, "InvalidAccessToken");
  const again = await send({ method: "POST", path: "/auth/v1/identity-token", body: { nonce: "n-1" }, token });
  expectProblem(again, 401, "InvalidAccessToken");
  const refreshed = await send({ method: "POST", path: "/auth/v1/token/refresh", body: { refreshToken: token } });
  expectProblem(refreshed, 401, "InvalidRefreshToken");
  const login = { method: "id_token_channel", token } as const;
  const challenge = person.client.requestChallenge({ login, chainName: stack.chains[0]!.chainName });
  expect(["InvalidLoginToken", "UnknownProvider"]).toContain((await problemOf(challenge)).error);
});

it("is issued to full sessions only, and no longer once the session has ended", async () => {
  const subject = { accountId: accountOf(), deviceKey: person.deviceKey };
  for (const scope of ["sign", "recover"]) {
    const token = await mintAccessToken(subject, { scope });
    const answer = await send({ method: "POST", path: "/auth/v1/identity-token", body: { nonce: "n-1" }, token });
    expectProblem(answer, 403, "InsufficientScope");
  }
  const leaving = await signUpPerson();
  const token = tokenOf(leaving);
  await leaving.client.signOut();
  const ask = () => send({ method: "POST", path: "/auth/v1/identity-token", body: { nonce: "n-1" }, token });
  await expect.poll(async () => (await ask()).status, { timeout: 2_000, interval: 50 }).toBe(401);
  expectProblem(await ask(), 401, "SessionEnded");
});
