import type { Env } from "./config.ts";

/** The input of a command: its own arguments, the environment, and its output. */
export interface CommandContext {
  readonly args: readonly string[];
  readonly env: Env;
  /** One line on standard output. */
  print(line: string): void;
}

/** One command of a service's operator, such as `signer keys list`. */
export interface Command {
  /** "noun verb", then its arguments, for the list of commands. */
  readonly usage: string;
  /** Runs the command and returns the exit code. Errors: Error whose message is shown. */
  run(context: CommandContext): Promise<number>;
}

/** An error in the arguments; the message is the usage. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/**
 * Runs the command that the process's arguments name and sets its exit code: 2 if there is none or it failed.
 */
export async function runCommand(program: string, commands: readonly Command[]): Promise<void> {
  const [noun, verb, ...args] = process.argv.slice(2);
  const command = commands.find(({ usage }) => usage === `${noun} ${verb}` || usage.startsWith(`${noun} ${verb} `));
  try {
    if (!command) throw new UsageError(commands.map(({ usage }) => usage).join(`\n       ${program} `));
    process.exitCode = await command.run({ args, env: process.env, print: (line) => console.log(line) });
  } catch (error) {
    const { message } = error as Error;
    console.error(error instanceof UsageError ? `usage: ${program} ${message}` : message);
    process.exitCode = 2;
  }
}
