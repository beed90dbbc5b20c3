import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { Failure } from "./fail.ts";
import { run } from "./run.ts";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
const VARIABLE = "CS_CHROMIUM";

function executable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A Chromium that is there: named by the variable, or on PATH. Failure where the variable names none. */
export function findChromium(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const named = env[VARIABLE];
  if (named) {
    if (!executable(named)) throw new Failure(`${VARIABLE}=${named} is not a program that can be run.`);
    return named;
  }
  const dirs = (env.PATH ?? "").split(delimiter).filter((dir) => dir !== "");
  return dirs.flatMap((dir) => NAMES.map((name) => join(dir, name))).find(executable);
}

/** How to become root without being asked for a password; undefined: there is no way. */
function asRoot(): string[] | undefined {
  if (process.getuid?.() === 0) return [];
  return spawnSync("sudo", ["-n", "true"], { stdio: "ignore", timeout: 5000 }).status === 0
    ? ["sudo", "-n"]
    : undefined;
}

/**
 * Finds Chromium, or installs Debian's (or Ubuntu's) where this process may. Tests with passkeys need a browser's own authenticator.
 * Failure with the ways to get it, where it can do neither.
 */
export async function ensureChromium(say: (line: string) => void): Promise<string> {
  const found = findChromium();
  if (found) return found;
  const root = asRoot();
  const apt = spawnSync("apt-get", ["--version"], { stdio: "ignore" }).status === 0;
  if (!root || !apt) throw missing("");
  say("installing Chromium with apt-get, once (a minute) …");
  const [command = "", ...prefix] = [...root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"];
  try {
    await run(command, [...prefix, "update"]);
    await run(command, [...prefix, "install", "-y", "--no-install-recommends", "chromium"]);
  } catch (error) {
    throw missing(`\n${(error as Error).message}`);
  }
  const installed = findChromium();
  if (!installed) throw missing("\napt-get has installed it, and it is not on PATH");
  return installed;
}

const missing = (why: string): Failure =>
  new Failure(
    `Chromium is missing: the end-to-end tests of passkeys drive one. Install it (apt-get install chromium), or name one by ${VARIABLE}=/path/to/chromium.${why}`,
  );
