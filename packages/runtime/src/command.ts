import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import type { Env } from "./config.ts";
import { scrub } from "./log.ts";

/** The input of a command: its own arguments, the environment, and its output. */
export interface CommandContext {
  readonly args: readonly string[];
  readonly env: Env;
  /** One line on standard output. */
  print(line: string): void;
}

/** A command of a program, such as `signer keys list`. */
export interface Command {
  /** The words that name it, then its arguments. */
  readonly usage: string;
  /** One line for --help. */
  readonly about: string;
  /** Runs the command and returns the exit code. Errors: UsageError; Error whose message is shown. */
  run(context: CommandContext): Promise<number>;
}

/** Thrown for an error in the arguments; the message is the usage. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  /** The reason why the arguments are wrong; empty where the usage says enough. */
  readonly reason: string;

  constructor(usage: string, reason = "") {
    super(usage);
    this.reason = reason;
  }
}

type Parsed<Options extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ args: string[]; options: Options; allowPositionals: true }>
>;

export interface CommandDefinition<Options extends ParseArgsOptionsConfig> extends Pick<Command, "usage" | "about"> {
  /** As for node:util's parseArgs. */
  options: Options;
  /** Whether it has arguments besides options. */
  positionals?: boolean;
  /** Returns the exit code; 0 where it returns no number. */
  run(input: Parsed<Options> & Omit<CommandContext, "args">): Promise<unknown>;
}

/** Makes a command of its options. Unknown options, and positionals where it has none, are a UsageError. */
export function command<const Options extends ParseArgsOptionsConfig>(definition: CommandDefinition<Options>): Command {
  const { usage, about, options, positionals: allowPositionals = false } = definition;
  return {
    usage,
    about,
    async run({ args, ...context }) {
      let parsed: Parsed<Options>;
      try {
        parsed = parseArgs({ args: [...args], options, allowPositionals }) as Parsed<Options>;
      } catch (error) {
        throw new UsageError(usage, (error as Error).message);
      }
      const code = await definition.run({ ...parsed, ...context });
      return typeof code === "number" ? code : 0;
    },
  };
}

const wordsOf = ({ usage }: Command): string[] =>
  usage
    .match(/^(?:[a-z][a-z:-]*(?: |$))*/)![0]
    .split(" ")
    .filter(Boolean);

/**
 * Runs the command that the process's arguments name and sets its exit code. --help prints its usage, or
 * that of all commands with the same first word. Errors in the arguments, and by default all errors, are exit
 * code 2.
 */
export async function runCommand(
  program: string,
  commands: readonly Command[],
  report = (error: unknown): void => {
    console.error(scrub((error as Error).message));
    process.exitCode = 2;
  },
): Promise<void> {
  const argv = process.argv.slice(2);
  const chosen = commands.find((each) => wordsOf(each).every((word, index) => argv[index] === word));
  const group = commands.filter((each) => wordsOf(each)[0] === argv[0]);
  const known = chosen ? [chosen] : group.length > 0 ? group : commands;
  // Beside other arguments of a command it is refused: a job's check must not become a page of help.
  const isAlone = !chosen || argv.length === wordsOf(chosen).length + 1;
  if (isAlone && ["--help", "-h"].includes(argv.at(-1) ?? "")) {
    for (const { usage, about } of known) console.log(`${program} ${usage}\n    ${about}`);
    return;
  }
  try {
    if (!chosen) {
      const reason = argv.length > 0 ? `no command is named \`${argv.slice(0, 2).join(" ")}\`` : "";
      throw new UsageError(known.map(({ usage }) => usage).join(`\n       ${program} `), reason);
    }
    const args = argv.slice(wordsOf(chosen).length);
    process.exitCode = await chosen.run({ args, env: process.env, print: (line) => console.log(line) });
  } catch (error) {
    if (!(error instanceof UsageError)) return report(error);
    console.error(`${error.reason && `${error.reason}\n`}usage: ${program} ${error.message}`);
    process.exitCode = 2;
  }
}
