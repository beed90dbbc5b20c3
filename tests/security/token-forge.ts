import { createDecipheriv, createPrivateKey, type KeyObject, randomUUID, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { stack } from "../support/person.ts";
import { secret, stateDir } from "./secrets.ts";

/** Runs one query on a service's database. */
export async function query<Row>(service: string, text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString: stack.databases[service] });
  await client.connect();
  try {
    return (await client.query(text, values)).rows as Row[];
  } finally {
    await client.end();
  }
}

/**
 * Returns the key that signs tokens now, from auth's database, so that a forged token differs from a valid
 * one in one respect only.
 */
export interface TokenKey {
  kid: string;
  privateKey: KeyObject;
  publicJwk: Record<string, string>;
}

const tokenKeys = new Map<string, Promise<TokenKey>>();

export function realTokenKey(table: "token_key" | "identity_key" = "token_key"): Promise<TokenKey> {
  const known = tokenKeys.get(table);
  if (known !== undefined) return known;
  const tokenKey = (async () => {
    const [row] = await query<{ kid: string; public_jwk: Record<string, string>; encrypted_private: Buffer }>(
      "auth",
      `SELECT * FROM ${table} WHERE signs_from <= now() ORDER BY signs_from DESC LIMIT 1`,
    );
    const { kid, public_jwk: publicJwk, encrypted_private: sealed } = row!;
    const hex = readFileSync(join(stateDir, "keys", "auth-token-key-encryption.key"), "utf8").trim();
    const decipher = createDecipheriv("aes-256-gcm", Buffer.from(hex, "hex"), sealed.subarray(0, 12));
    decipher.setAAD(Buffer.from(kid)).setAuthTag(sealed.subarray(12, 28));
    const der = Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()]);
    secret("key-encryption key", hex);
    return { kid, publicJwk, privateKey: createPrivateKey({ key: der, format: "der", type: "pkcs8" }) };
  })();
  tokenKeys.set(table, tokenKey);
  return tokenKey;
}

export const part = (value: unknown): string =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

/** Returns header and claims of a JWT without verifying it. */
export function read(token: string): { header: Record<string, unknown>; claims: Record<string, unknown> } {
  const [header, claims] = token.split(".");
  const json = (text = "") => JSON.parse(Buffer.from(text, "base64url").toString());
  return { header: json(header), claims: json(claims) };
}

/** Creates a JWT with exactly this header and these claims, signed by ES256 with `key`. */
export function signJwt(header: unknown, claims: unknown, key: KeyObject): string {
  const input = `${part(header)}.${part(claims)}`;
  const signature = sign("sha256", Buffer.from(input), { key, dsaEncoding: "ieee-p1363" });
  return secret("token", `${input}.${signature.toString("base64url")}`);
}

/** The account and session of a token. */
export interface Subject {
  accountId: string;
  deviceKey: { algorithm: string; publicKey: string };
}

/** Returns the claims of a valid access token, in a session that has not ended. */
export function goodClaims({ accountId, deviceKey }: Subject): Record<string, unknown> {
  const now = Math.floor(Date.now() / 1000);
  const key = { alg: deviceKey.algorithm, key: deviceKey.publicKey };
  return {
    client_id: "demo",
    sid: randomUUID(),
    scope: "full",
    auth_time: now,
    session_key: key,
    account_key: key,
    iss: stack.gateway,
    aud: "countersign",
    sub: accountId,
    jti: randomUUID(),
    iat: now,
    exp: now + 900,
  };
}

/** Creates a valid access token with these claims changed and these header members added. */
export async function mintAccessToken(
  subject: Subject,
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
): Promise<string> {
  const { kid, privateKey } = await realTokenKey();
  // An ephemeral token names its 2FA request.
  const request = claims.scope === "sign" ? { two_factor: randomUUID() } : {};
  const all = { ...goodClaims(subject), ...request, ...claims };
  return signJwt({ alg: "ES256", typ: "at+jwt", kid, ...header }, all, privateKey);
}
