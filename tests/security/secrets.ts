import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import "@countersign/local-stack/testing/provided.ts";
import { inject } from "vitest";
import { stack } from "../support/person.ts";

/** Every secret that this file's tests have created or received, with its kind. */
const secrets = new Map<string, string>();

/** Registers a secret, so that `secretsInLogs` looks for it; returns it. */
export function secret(kind: string, value: string): string {
  // A shorter value may be in a log by chance.
  if (value.length >= 12) secrets.set(value, kind);
  return value;
}

/** Registers a private key in every encoding that a log could have. */
export function secretKey(jwk: { d?: string | undefined }): void {
  const d = jwk.d ?? "";
  secret("private key", d);
  secret("private key, hex", Buffer.from(d, "base64url").toString("hex"));
}

/** The stack's state directory, absolute. */
export const stateDir = resolve(inject("stackDir"), stack.stateDir);

/** The processes whose logs are checked; the development provider's and the chain's logs are not. */
const OURS = ["gateway", "auth", "device", "key", "account", "signer"];

/** Registers the secrets in the processes' settings: keys in files, passwords in connection strings. */
function secretsOfTheStack(): void {
  for (const file of ["auth-token-key-encryption.key", "signer-keystore.passphrase"]) {
    secret(file, readFileSync(join(stateDir, "keys", file), "utf8").trim());
  }
  for (const url of Object.values(stack.databases)) secret("database password", new URL(url).password);
}

/** Returns which kinds of secrets are in which log, and how many secrets were looked for. */
export function secretsInLogs(): { looked: number; found: string[] } {
  secretsOfTheStack();
  const directory = join(stateDir, "log");
  const found = new Set<string>();
  for (const file of readdirSync(directory)) {
    if (!OURS.includes(file.replace(/\.log$/, ""))) continue;
    const text = readFileSync(join(directory, file), "utf8");
    for (const [value, kind] of secrets) if (text.includes(value)) found.add(`${file}: ${kind}`);
    if (/eyJ[\w-]{20,}\.|PRIVATE KEY|@example\.com/.test(text)) found.add(`${file}: something like a secret`);
  }
  return { looked: secrets.size, found: [...found] };
}
