import { readFileSync } from "node:fs";

/**
 * Returns the command that runs a program of this folder in a pod, whose image does not have it: its text is
 * an argument.
 */
export function nodeCommand(program: "connect" | "forward" | "wait", ...args: string[]): string[] {
  const text = readFileSync(new URL(`${program}.mjs`, import.meta.url), "utf8");
  return ["node", "--input-type=module", "--eval", text, "--", ...args];
}
