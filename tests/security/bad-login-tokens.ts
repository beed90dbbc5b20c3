import { createHmac, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { FOREIGN_CLIENT } from "@countersign/local-stack/identity-provider.ts";
import { afterAll, beforeAll } from "vitest";
import { application } from "../support/person.ts";
import { idTokenOf, newVictim, type Victim } from "./attacker.ts";
import { secret, stateDir } from "./secrets.ts";
import { part, read } from "./token-forge.ts";

/** The development provider's key, so that an attack differs from a valid ID token in one respect only. */
const [providerJwk] = JSON.parse(readFileSync(join(stateDir, "identity-provider", "keys.json"), "utf8")).jwks.keys;
const providerKey = createPrivateKey({ key: providerJwk, format: "jwk" });
const providerPublic = createPublicKey(providerKey);
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });

export let victim: Victim;
export let good: { header: Record<string, unknown>; claims: Record<string, unknown> };
/** A URL from which an attacker wants the service to fetch keys. */
let trap: Server;
let trapUrl: string;
export const fetched: string[] = [];
/** Returns a valid access token that belongs to another client. */
let foreignToken: string;

beforeAll(async () => {
  victim = await newVictim();
  foreignToken = (await idTokenOf(victim.email, undefined, FOREIGN_CLIENT)).accessToken;
  good = read(victim.idToken);
  trap = createServer((request, response) => {
    fetched.push(request.url!);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ keys: [{ ...rsa.publicKey.export({ format: "jwk" }), kid: "evil", alg: "RS256" }] }));
  });
  await new Promise<void>((resolve) => trap.listen(0, "127.0.0.1", resolve));
  // A name and not an address: an answer may quote the token's issuer, and no internal address may be in one.
  trapUrl = `http://localhost:${(trap.address() as AddressInfo).port}`;
});
afterAll(() => void trap.close());

export const now = () => Math.floor(Date.now() / 1000);

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
export const token = (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}, key?: KeyObject) =>
  jwt({ ...good.header, ...header }, { ...good.claims, iat: now(), exp: now() + 600, ...claims }, key);
export function without(name: string): string {
  const { [name]: _, ...rest } = good.claims;
  return jwt(good.header, rest);
}
function hmac(key: string | Buffer): string {
  const input = `${part({ ...good.header, alg: "HS256" })}.${part(good.claims)}`;
  return `${input}.${createHmac("sha256", key).update(input).digest("base64url")}`;
}

const AT = { typ: "application/at+jwt" };

export const BAD_TOKENS: [string, () => string][] = [
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
  ["an access token of another client", () => foreignToken],
  ["an access token of another client, with a byte more", () => `${foreignToken}x`],
  ["a JWT access token for the client, without one", () => token({}, { typ: "at+jwt" })],
  ["an ID token as a JWT access token", () => token({ client_id: application.clientId }, { typ: "at+jwt" })],
  ["a JWT access token for another resource", () => token({ client_id: application.clientId, aud: "x" }, AT)],
  ["a JWT access token of another client", () => token({ client_id: "foreign-app" }, AT)],
  ["a JWT access token under Keycloak's type", () => token({ azp: application.clientId, typ: "Bearer" })],
  ["a logout token", () => token({ events: { "http://schemas.openid.net/event/backchannel-logout": {} } })],
  ["a logout token by its type", () => token({}, { typ: "logout+jwt" })],
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
