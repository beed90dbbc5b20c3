import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** The checkout's root directory, absolute. */
export const root = resolve(import.meta.dirname, "../../..");

/** The five services that own a database, in the order of their ports. */
export const services = ["auth", "device", "key", "account", "signer"] as const;
export type ServiceName = (typeof services)[number];

/** The state of a developer's stack between starts: keys, certificates, chain, streams. Not in git. */
export const defaultStateDir = join(root, ".local");

/** Where the stamps of finished work are kept; removed with node_modules. */
export const stampDir = join(root, "node_modules", ".cache", "countersign");

/** Node's compile cache: compiling the same files again is half of a process's start. */
export const compileCacheDir = join(root, ".local", "compile-cache");

/** Returns ~/.cache/countersign, or a path below XDG_CACHE_HOME. */
export function cacheDir(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "countersign");
}

/**
 * Returns a directory for Postgres that another user can reach.
 * Postgres refuses to run as root, and its own user cannot enter a checkout below a directory of mode 0700.
 */
export function postgresDir(stateDir: string): string {
  return `/var/tmp/countersign-${createHash("sha256").update(stateDir).digest("hex").slice(0, 12)}`;
}

/**
 * Returns every file below `dir` (relative, sorted) that `wanted` accepts, without node_modules; empty if
 * `dir` is missing.
 */
export function filesBelow(dir: string, wanted: (path: string) => boolean): string[] {
  try {
    return readdirSync(dir, { recursive: true, encoding: "utf8" })
      .filter((path) => !path.includes("node_modules") && wanted(path))
      .sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
