import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cacheDir } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";

/** Returns a Python with the packages of a requirements file, made once per machine and content. */
export async function ensurePython(requirements: string): Promise<string> {
  const version = createHash("sha256").update(readFileSync(requirements)).digest("hex").slice(0, 12);
  const home = join(cacheDir(), `python-${version}`);
  const program = join(home, "bin/python");
  if (existsSync(join(home, "ready"))) return program;
  rmSync(home, { recursive: true, force: true });
  await run("python3", ["-m", "venv", home]);
  const install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"];
  await run(program, [...install, "-r", requirements]);
  writeFileSync(join(home, "ready"), "");
  return program;
}
