import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { Failure } from "@countersign/build/fail.ts";
import { stateFiles } from "@countersign/local-stack/service-environment.ts";

export const OTHER_FILES = "has other files than the state of a stack, and `npm run reset` would delete them.";

/** Files of a start that ended before it made keys. */
const BEFORE_KEYS = ["log", "supervisor.pid"];

/** Errors: Failure where this is no folder, or one with other files than the state of a stack. */
export function checkStateDir(stateDir: string): void {
  if (!existsSync(stateDir)) return;
  const refuse = (why: string) => new Failure(`--state-dir ${stateDir}: ${why}`);
  if (!statSync(stateDir).isDirectory()) throw refuse("is no folder.");
  const isState = existsSync(stateFiles(stateDir).tokenKeyEncryptionKey);
  if (!isState && readdirSync(stateDir).some((name) => !BEFORE_KEYS.includes(name))) throw refuse(OTHER_FILES);
}

/** Makes the folder and those above it. Errors: Failure where the system refuses. */
export function makeStateDir(stateDir: string): void {
  // Not `recursive`: below /proc that never ends (Node 24).
  const make = (folder: string): void => {
    if (existsSync(folder)) return;
    make(dirname(folder));
    mkdirSync(folder);
  };
  try {
    make(stateDir);
  } catch (error) {
    throw new Failure(`--state-dir ${stateDir} cannot be made: ${(error as Error).message}`);
  }
}
