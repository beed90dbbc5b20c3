import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
  sign,
} from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { application, chainName, newEmail, stack } from "../e2e/person.ts";
import {
  afterwards,
  attackerPhone,
  codeOf,
  expectProblem,
  idTokenOf,
  newVictim,
  remember,
  send,
  type Victim,
} from "./attacker.ts";
import { secret, stateDir } from "./secrets.ts";
import { mintAccessToken, part, query, read } from "./token-forge.ts";

/** The development provider's own key: an attack differs from a good ID token in one respect. */
const [providerJwk] = JSON.parse(readFileSync(join(stateDir, "identity-provider", "keys.json"), "utf8")).jwks.keys;
const providerKey = createPrivateKey({ key: providerJwk, format: "jwk" });
const providerPublic = createPublicKey(providerKey);
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });

let victim: Victim;
let good: { header: Record<string, unknown>; claims: Record<string, unknown> };
/** Where an attacker would like us to fetch keys. */
let trap: Server;
let trapUrl: string;
const fetched: string[] = [];

beforeAll(async () => {
  victim = await newVictim();
  good = read(victim.idToken);
  trap = createServer((request, response) => {
    fetched.push(request.url!);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ keys: [{ ...rsa.publicKey.export({ format: "jwk" }), kid: "evil", alg: "RS256" }] }));
  });
  await new Promise<void>((resolve) => trap.listen(0, "127.0.0.1", resolve));
  trapUrl = `http://127.0.0.1:${(trap.address() as AddressInfo).port}`;
});
afterAll(() => void trap.close());

const now = () => Math.floor(Date.now() / 1000);

function jwt(header: unknown, claims: unknown, key: KeyObject = providerKey, pss = false): string {
  const input = `${part(header)}.${part(claims)}`;
  const options =
    key.asymmetricKeyType === "ec"
      ? { key, dsaEncoding: "ieee-p1363" as const }
      : pss
        ? { key, padding: 6, saltLength: 32 }
        : key;
  return secret("forged ID token", `${input}.${sign("sha256", Buffer.from(input), options).toString("base64url")}`);
}
const token = (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}, key?: KeyObject) =>
  jwt({ ...good.header, ...header }, { ...good.claims, iat: now(), exp: now() + 600, ...claims }, key);
function without(name: string): string {
  const { [name]: _, ...rest } = good.claims;
  return jwt(good.header, rest);
}
function hmac(key: string | Buffer): string {
  const input = `${part({ ...good.header, alg: "HS256" })}.${part(good.claims)}`;
  return `${input}.${createHmac("sha256", key).update(input).digest("base64url")}`;
}

const BAD_TOKENS: [string, () => string][] = [
  ["another issuer", () => token({ iss: "https://evil.example" })],
  ["the attacker's issuer, with its keys", () => token({ iss: trapUrl }, { kid: "evil" }, rsa.privateKey)],
  ["no issuer", () => without("iss")],
  ["another client", () => token({ aud: "another-client" })],
  ["no client", () => without("aud")],
  ["several clients and none responsible", () => token({ aud: [application.clientId, "another-client"] })],
  ["another client responsible", () => token({ azp: "another-client" })],
  ["several clients, another responsible", () => token({ aud: [application.clientId, "another"], azp: "another" })],
  ["a client in another case", () => token({ aud: application.clientId.toUpperCase() })],
  ["expired", () => token({ exp: now() - 60 })],
  ["no end", () => without("exp")],
  ["an end in text", () => token({ exp: "9999999999" })],
  ["issued eleven minutes ago", () => token({ iat: now() - 660 })],
  ["issued in the future", () => token({ iat: now() + 300 })],
  ["no time of issue", () => without("iat")],
  ["not valid yet", () => token({ nbf: now() + 300 })],
  ["no subject", () => without("sub")],
  ["an empty subject", () => token({ sub: "" })],
  ["a number as subject", () => token({ sub: 1 })],
  ["a subject too long", () => token({ sub: "x".repeat(256) })],
  ["alg none", () => `${part({ ...good.header, alg: "none" })}.${part(good.claims)}.`],
  ["alg none with a good signature", () => token({}, { alg: "none" })],
  ["HS256 with the public key in PEM", () => hmac(providerPublic.export({ type: "spki", format: "pem" }))],
  ["HS256 with the public key in DER", () => hmac(providerPublic.export({ type: "spki", format: "der" }))],
  ["HS256 with the modulus", () => hmac(Buffer.from(providerJwk.n, "base64url"))],
  ["RS384", () => token({}, { alg: "RS384" })],
  ["ES256 by the attacker under the provider's key id", () => token({}, { alg: "ES256" }, ec.privateKey)],
  ["an unknown key id", () => token({}, { kid: "unknown" })],
  ["the attacker's key under the provider's id", () => token({}, {}, rsa.privateKey)],
  [
    "the attacker's key in the header",
    () => token({}, { jwk: rsa.publicKey.export({ format: "jwk" }) }, rsa.privateKey),
  ],
  ["a URL of keys", () => token({}, { jku: `${trapUrl}/jku`, kid: "evil" }, rsa.privateKey)],
  ["a URL of certificates", () => token({}, { x5u: `${trapUrl}/x5u`, kid: "evil" }, rsa.privateKey)],
  ["a critical extension", () => token({}, { crit: ["exp"], exp: 1 })],
  ["an unknown critical extension", () => token({}, { crit: ["evil"], evil: true })],
  ["an edited e-mail", () => edit({ email: "somebody-else@example.com" })],
  ["an edited subject", () => edit({ sub: "somebody-else" })],
  ["a signature left out", () => `${victim.idToken.split(".").slice(0, 2).join(".")}.`],
  ["a signature cut short", () => victim.idToken.slice(0, -8)],
  [
    "an edited signature",
    () => victim.idToken.replace(/\.([\w-]{4})(.)([\w-]+)$/, (_, a, b, c) => `.${a}${b === "A" ? "B" : "A"}${c}`),
  ],
  ["our own access token", () => victim.signedUp.credentials.accessToken],
  ["our own refresh token", () => victim.signedUp.credentials.refreshToken],
  ["garbage", () => "garbage"],
  ["three dots", () => "..."],
  ["an e-mail address", () => victim.email],
  ["a list of tokens", () => `${victim.idToken},${victim.idToken}`],
  ["a code of nobody", () => "x".repeat(43)],
];

function edit(changes: Record<string, unknown>): string {
  const [header, , signature] = victim.idToken.split(".");
  return `${header}.${part({ ...good.claims, ...changes })}.${signature}`;
}

const phone = attackerPhone();
const userKey = { type: "device", publicKey: phone.deviceKey.publicKey, device: {} };
const signUp = (login: Record<string, unknown>) =>
  send({ method: "POST", path: "/auth/v1/signup", body: { chainName, userKey, ...login } });
const challenge = (login: Record<string, unknown>, publicKey = phone.deviceKey.publicKey) =>
  send({
    method: "POST",
    path: "/auth/v1/signin/challenge",
    body: { challengeType: "deviceKey", request: { chainName, ...login }, publicKey },
  });
const byToken = (value: string, more: Record<string, unknown> = {}) => ({
  method: "id_token_channel",
  token: value,
  ...more,
});

describe("ID tokens", () => {
  it("a good one made by the same means is believed", async () => {
    expectProblem(await challenge(byToken(token())), 400, "PleaseRegisterKey");
    expect((await challenge(byToken(token()), victim.deviceKey.publicKey)).status).toBe(200);
    expectProblem(await signUp(byToken(token())), 409, "AccountExists");
  });

  it.each(BAD_TOKENS)("%s: neither sign-up nor challenge", async (_, make) => {
    for (const ask of [signUp, challenge]) {
      expectProblem(await ask(byToken(make())), 401, "InvalidLoginToken");
      expectProblem(await ask(byToken(make(), { provider: "dev" })), 401, "InvalidLoginToken");
    }
  });

  it.each([
    ["another nonce than the token's", { nonce: "another" }, 401, "InvalidLoginToken"],
    ["a provider of nobody", { provider: "evil" }, 400, "UnknownProvider"],
    ["a provider that is a URL", { provider: "http://evil.example" }, 400, "UnknownProvider"],
    ["a provider of Object", { provider: "__proto__" }, 400, "UnknownProvider"],
    ["a method of Object", { method: "constructor" }, 400, "InvalidRequest"],
  ])("%s is refused", async (_, more, status, error) => {
    expectProblem(await signUp(byToken(victim.idToken, more)), status, error);
    expectProblem(await challenge(byToken(victim.idToken, more), victim.deviceKey.publicKey), status, error);
  });

  it("who has the e-mail of somebody is not that person", async () => {
    const namesake = token({ sub: randomUUID(), email: victim.email, email_verified: true });
    expectProblem(await challenge(byToken(namesake), victim.deviceKey.publicKey), 400, "PleaseRegisterKey");
  });

  it.each<[string, Record<string, unknown>, number[]]>([
    ["NUL in the subject", { sub: "a\u0000b" }, [401]],
    ["a lone surrogate in the subject", { sub: "a\ud800b" }, [401]],
    ["a subject of Object", { sub: "__proto__" }, [400]],
    ["a subject with quotes", { sub: "' OR ''='" }, [400]],
    ["an e-mail with NUL", { sub: randomUUID(), email: "a\u0000@example.com" }, [400]],
    ["an e-mail that is a list", { sub: randomUUID(), email: ["a@example.com"] }, [400]],
    ["an endless name", { sub: randomUUID(), name: "x".repeat(8_000) }, [400]],
    ["a time of login far in the future", { sub: randomUUID(), auth_time: 1e300 }, [400]],
    ["a time of login before time", { sub: randomUUID(), auth_time: -1e300 }, [400]],
    ["a time of login that is text", { sub: randomUUID(), auth_time: "now" }, [400]],
    ["a nonce that is an object", { sub: randomUUID(), nonce: {} }, [400]],
  ])("%s in a good token breaks nothing", async (_, claims, statuses) => {
    expectProblem(await challenge(byToken(token(claims))), statuses, ["InvalidLoginToken", "PleaseRegisterKey"]);
  });

  it("a profile that no database takes is signed up without it", async () => {
    const fresh = attackerPhone();
    const claims = {
      sub: randomUUID(),
      email: "a\u0000b@example.com",
      name: "\ud800",
      picture: "javascript:alert(document.domain)",
      auth_time: 1e300,
    };
    const body = {
      ...byToken(token(claims)),
      chainName,
      userKey: { ...userKey, publicKey: fresh.deviceKey.publicKey },
    };
    const answer = await send({ method: "POST", path: "/auth/v1/signup", body });
    expect(answer.status, answer.text).toBe(200);
    remember(answer.body);
    for (const { profileImageUrl } of answer.body.account.addresses) expect(profileImageUrl).toBe("");
    const { auth_time } = read(answer.body.credentials.accessToken).claims;
    expect(auth_time).toBeLessThanOrEqual(now() + 30);
  });

  it("an access token of another account does not help a login", async () => {
    const other = await newVictim();
    const bearer = await mintAccessToken(other);
    const body = { ...byToken(victim.idToken), chainName, userKey };
    const answer = await send({ method: "POST", path: "/auth/v1/signup", body, token: bearer });
    expectProblem(answer, 409, "AccountExists");
  });

  it("nothing is fetched from where a token says", () => {
    expect(fetched).toEqual([]);
  });
});

describe("codes", () => {
  const byCode = (code: string, codeVerifier: string, more: Record<string, unknown> = {}) => ({
    method: "redirect_code_channel",
    token: code,
    codeVerifier,
    redirectUri: application.redirectUri,
    ...more,
  });

  it.each<[string, (code: { code: string; codeVerifier: string }) => Record<string, unknown>]>([
    ["another verifier", ({ code }) => byCode(code, "x".repeat(43))],
    ["no verifier", ({ code }) => byCode(code, "")],
    [
      "another redirect URI",
      ({ code, codeVerifier }) => byCode(code, codeVerifier, { redirectUri: "http://evil.example/callback" }),
    ],
    [
      "a redirect URI below ours",
      ({ code, codeVerifier }) => byCode(code, codeVerifier, { redirectUri: `${application.redirectUri}/../evil` }),
    ],
    ["another nonce", ({ code, codeVerifier }) => byCode(code, codeVerifier, { nonce: "another" })],
    ["the code with a byte more", ({ code, codeVerifier }) => byCode(`${code}x`, codeVerifier)],
    ["the code as an ID token", ({ code }) => byToken(code)],
  ])("%s is refused", async (_, make) => {
    const code = await codeOf(newEmail());
    for (const ask of [challenge, signUp]) expectProblem(await ask(make(code)), 401, "InvalidLoginToken");
  });

  it("an ID token is no code", async () => {
    expectProblem(await challenge(byCode(victim.idToken, "x".repeat(43))), 401, "InvalidLoginToken");
  });

  it("a stolen code is of no use after its owner, with another key or another verifier", async () => {
    const code = await codeOf(victim.email);
    const own = byCode(code.code, code.codeVerifier);
    expect((await challenge(own, victim.deviceKey.publicKey)).status).toBe(200);
    expect((await challenge(own, victim.deviceKey.publicKey)).status).toBe(200);
    expectProblem(await challenge(own), 401, "InvalidLoginToken");
    // The mismatch has deleted it: whoever it was, nobody uses it any more.
    expectProblem(await challenge(own, victim.deviceKey.publicKey), 401, "InvalidLoginToken");
  });

  it("of twenty keys that bring one code at once, at most one is heard", async () => {
    const code = await codeOf(newEmail());
    const own = byCode(code.code, code.codeVerifier);
    const phones = Array.from({ length: 20 }, () => attackerPhone());
    const answers = await Promise.all(phones.map(({ deviceKey }) => challenge(own, deviceKey.publicKey)));
    const heard = answers.filter(({ status }) => status !== 401);
    expect(heard.length).toBeLessThanOrEqual(1);
    for (const answer of heard) expectProblem(answer, 400, "PleaseRegisterKey");
  });
});

it("no attack has made an account", async () => {
  const { publicKey } = phone.deviceKey;
  expect(await query("auth", "SELECT 1 FROM sign_up WHERE user_key = $1 OR device_key = $1", [publicKey])).toEqual([]);
  expect(await query("auth", "SELECT 1 FROM identity WHERE issuer <> $1", [stack.identityProvider.issuer])).toEqual([]);
});

it("a login bound to another key is refused where binding is asked for", async () => {
  // The development client does not require it; a nonce that is sent must be the token's nevertheless.
  const { idToken, nonce } = await idTokenOf(newEmail(), phone.client.loginNonce);
  expect(nonce).toBe(phone.client.loginNonce);
  expectProblem(
    await challenge(byToken(idToken, { nonce: attackerPhone().client.loginNonce })),
    401,
    "InvalidLoginToken",
  );
});

afterwards();
