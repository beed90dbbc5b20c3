import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import "@countersign/local-stack/testing/provided.ts";
import { inject } from "vitest";
import { stack } from "../e2e/person.ts";

/** Everything secret that this file's tests have made or seen, with what it is. */
const secrets = new Map<string, string>();

/** Remembers a secret, so that `secretsInLogs` looks for it; gives it back. */
export function secret(kind: string, value: string): string {
  // What is shorter stands in any log by chance.
  if (value.length >= 12) secrets.set(value, kind);
  return value;
}

/** A private key, in every spelling that a log could have. */
export function secretKey(jwk: { d?: string | undefined }): void {
  const d = jwk.d ?? "";
  secret("private key", d);
  secret("private key, hex", Buffer.from(d, "base64url").toString("hex"));
}

/** The stack's state directory, absolute. */
export const stateDir = resolve(inject("stackDir"), stack.stateDir);

/** The logs of our own services; the development provider's and the chain's are not ours. */
const OURS = ["gateway", "auth", "device", "key", "account", "signer"];

/** What the processes themselves are told and must not repeat: keys in files, passwords in connection strings. */
function secretsOfTheStack(): void {
  for (const file of ["auth-token-key-encryption.key", "signer-keystore.passphrase"]) {
    secret(file, readFileSync(join(stateDir, "keys", file), "utf8").trim());
  }
  for (const url of Object.values(stack.databases)) secret("database password", new URL(url).password);
}

/** Which secrets stand in which log, by kind; and how many were looked for. */
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
