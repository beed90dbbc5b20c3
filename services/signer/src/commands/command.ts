import type { Env } from "@countersign/service-kit";

/** What a command is given: its own arguments, the environment, and where to write. */
export interface CommandContext {
  readonly args: readonly string[];
  readonly env: Env;
  /** One line on standard output. */
  print(line: string): void;
}

export interface Command {
  /** Arguments and variables, for the list of commands. */
  readonly usage: string;
  /** Gives the exit code. Errors: Error whose message is shown. */
  run(context: CommandContext): Promise<number>;
}

/** The arguments do not fit; the message is the usage. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Reads a variable that must be there. Errors: Error that names it. */
export function required(env: Env, name: string): string {
  const value = env[name];
  if (!value) throw new Error(`${name} is missing`);
  return value;
}
