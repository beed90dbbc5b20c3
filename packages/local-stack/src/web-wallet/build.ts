import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";

const wallet = join(root, "apps/wallet");
const STAMP = "sources.txt";
/** All that the bundle is made of: the app, the packages that it imports, and the versions of libraries. */
const SOURCES = [
  "apps/wallet",
  "package-lock.json",
  ...["client", "flow", "keys", "react"].map((name) => `packages/${name}/src`),
];
const IGNORED = /(^|\/)(node_modules|dist|testing)(\/|$)|\.test\.tsx?$/;

/** Returns the digest of all sources of the wallet. */
function digestOf(sources: readonly string[]): string {
  const hash = createHash("sha256");
  for (const source of sources) {
    const path = join(root, source);
    const files = source.includes(".")
      ? [path]
      : readdirSync(path, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => join(entry.parentPath, entry.name));
    for (const file of files.filter((each) => !IGNORED.test(relative(root, each))).sort()) {
      hash.update(relative(root, file)).update("\0").update(readFileSync(file)).update("\0");
    }
  }
  return hash.digest("hex");
}

/**
 * Builds apps/wallet with Vite where the build of exactly these sources is not there yet; returns its folder.
 * Builds at the same time do not disturb each other.
 */
export async function ensureWallet(say: (line: string) => void): Promise<string> {
  const built = join(wallet, "dist");
  const digest = digestOf(SOURCES);
  if (existsSync(join(built, STAMP)) && readFileSync(join(built, STAMP), "utf8") === digest) return built;
  const started = performance.now();
  const local = join(root, ".local");
  mkdirSync(local, { recursive: true });
  const made = mkdtempSync(join(local, "wallet-"));
  try {
    const vite = join(root, "node_modules/vite/bin/vite.js");
    await run(process.execPath, [vite, "build", "--outDir", made, "--emptyOutDir", "--logLevel", "warn"], {
      cwd: wallet,
    });
    writeFileSync(join(made, STAMP), digest);
    rmSync(built, { recursive: true, force: true });
    renameSync(made, built);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
  say(`built the wallet in ${((performance.now() - started) / 1000).toFixed(1)} s`);
  return built;
}
