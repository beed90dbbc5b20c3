import { generateKeyPairSync, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JWK } from "oidc-provider";

export interface ProviderKeys {
  /** RS256: what every relying party can verify. */
  jwks: { keys: JWK[] };
  cookieKeys: string[];
}

/** Returns the provider's keys, made once and kept: tokens of before a restart stay good. */
export function ensureProviderKeys(stateDir: string): ProviderKeys {
  const path = join(stateDir, "keys.json");
  if (existsSync(path)) return JSON.parse(readFileSync(path, "utf8")) as ProviderKeys;
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const jwk = {
    ...privateKey.export({ format: "jwk" }),
    use: "sig",
    alg: "RS256",
    kid: randomBytes(8).toString("hex"),
  };
  const keys = { jwks: { keys: [jwk as JWK] }, cookieKeys: [randomBytes(32).toString("hex")] };
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  writeFileSync(path, JSON.stringify(keys), { mode: 0o600 });
  return keys;
}
