import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "./fail.ts";
import { cacheDir, root } from "./paths.ts";
import { run } from "./run.ts";
import { limitWasmMemory } from "./wasm-memory.ts";

const source = join(root, "services/signer/cadence-parser");
const inputs = ["go.mod", "go.sum", "main.go", "encode.go", "mph/go.mod", "mph/mph.go"];

/** Where the signer looks for its parser: the module, and Go's own JavaScript for it. */
const target = join(source, "dist");
const outputs = ["cadence-parser.wasm", "wasm_exec.js"] as const;

/** 64 KiB each. An ordinary script takes 7 MiB, the worst known one 26 MiB. */
const MAX_MEMORY_PAGES = 1024;

function go(...args: string[]): string | undefined {
  const { status, stdout } = spawnSync("go", args, { cwd: source, encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}

/** Returns a hash of the sources and of the memory limit; the compiler's version is not part of it. */
function fingerprint(): string {
  const hash = createHash("sha256");
  for (const name of inputs) hash.update(name).update(readFileSync(join(source, name)));
  return hash.update(String(MAX_MEMORY_PAGES)).digest("hex").slice(0, 16);
}

async function build(into: string): Promise<void> {
  const goRoot = go("env", "GOROOT");
  if (goRoot === undefined) {
    throw new Failure(
      "the signer's Cadence parser is missing. Install Go 1.26 or newer (it is then built for you), " +
        `or put ${outputs.join(" and ")} of another checkout of this version into ${target}.`,
    );
  }
  const module = join(into, outputs[0]);
  await run("go", ["build", "-trimpath", "-ldflags=-s -w", "-o", module, "."], {
    cwd: source,
    env: { ...process.env, GOOS: "js", GOARCH: "wasm", GOFLAGS: "-mod=readonly -buildvcs=false" },
  });
  writeFileSync(module, limitWasmMemory(readFileSync(module), MAX_MEMORY_PAGES));
  cpSync(join(goRoot, "lib/wasm/wasm_exec.js"), join(into, outputs[1]));
}

/**
 * Replaces a directory: removes it, then renames the new one. If the rename fails because a concurrent build
 * was faster, that one has put the same content there.
 */
function place(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  try {
    renameSync(from, to);
  } catch (error) {
    if (!existsSync(to)) throw error;
  }
}

/**
 * Builds the parser from services/signer/cadence-parser unless it exists, and caches it like the tools. It
 * takes some seconds; the first time, Go fetches the module whose hash is in go.sum.
 */
export async function ensureCadenceParser(say: (line: string) => void): Promise<void> {
  const version = fingerprint();
  const stamp = join(target, "version");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === version) return;
  const cached = join(cacheDir(), "cadence-parser", version);
  mkdirSync(join(cacheDir(), "cadence-parser"), { recursive: true });
  if (!existsSync(cached)) {
    say("building the Cadence parser with Go …");
    const scratch = mkdtempSync(`${cached}.`);
    try {
      await build(scratch);
      place(scratch, cached);
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  }
  const partial = mkdtempSync(`${target}.`);
  for (const name of outputs) cpSync(join(cached, name), join(partial, name));
  writeFileSync(join(partial, "version"), version);
  place(partial, target);
  rmSync(partial, { recursive: true, force: true });
}
