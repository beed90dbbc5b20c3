import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Creates a file with 32 random bytes in hex, mode 0600, unless it exists. Returns its path. */
export function ensureSecret(path: string): string {
  if (!existsSync(path)) writePrivate(path, randomBytes(32).toString("hex"));
  return path;
}

export function writePrivate(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, content, { mode: 0o600 });
}

export function readTrimmed(path: string): string {
  return readFileSync(path, "utf8").trim();
}
