import { delimiter, join } from "node:path";
import { Failure } from "@countersign/build/fail.ts";
import { installDebianPackages } from "./debian-packages.ts";
import { isExecutable } from "./tools.ts";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
const VARIABLE = "CS_CHROMIUM";

/**
 * Returns an installed Chromium: named by the variable, or on PATH. Failure where the variable names none.
 */
export function findChromium(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const named = env[VARIABLE];
  if (named) {
    if (!isExecutable(named)) throw new Failure(`${VARIABLE}=${named} is not a program that can be run.`);
    return named;
  }
  const dirs = (env.PATH ?? "").split(delimiter).filter((dir) => dir !== "");
  return dirs.flatMap((dir) => NAMES.map((name) => join(dir, name))).find(isExecutable);
}

/**
 * Finds Chromium, or installs Debian's (or Ubuntu's) where this process may. Tests with passkeys need a
 * browser's own authenticator. Failure with the ways to get it, where it can do neither.
 */
export async function ensureChromium(say: (line: string) => void): Promise<string> {
  const found = findChromium();
  if (found) return found;
  const problem = await installDebianPackages(["chromium"], say);
  if (problem) throw missing(`\n${problem}`);
  const installed = findChromium();
  if (!installed) throw missing("\napt-get has installed it, and it is not on PATH");
  return installed;
}

const missing = (why: string): Failure =>
  new Failure(
    `Chromium is missing: the end-to-end tests of passkeys drive one. Install it (apt-get install chromium), or name one by ${VARIABLE}=/path/to/chromium.${why}`,
  );
