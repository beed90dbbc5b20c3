import type { Env } from "@countersign/runtime";

/** Reads a variable that must be there. Errors: Error that names it. */
export function required(env: Env, name: string): string {
  const value = env[name];
  if (!value) throw new Error(`${name} is missing`);
  return value;
}
