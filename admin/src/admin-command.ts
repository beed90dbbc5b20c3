import { type Command, command, UsageError } from "@countersign/runtime";
import { neutralize, toJson } from "./output.ts";
import { type Services, withServices } from "./services.ts";

/** The input of an administrator's command, and its output. */
export interface Asked {
  readonly services: Services;
  readonly reason: string;
  /** The arguments, as many as the usage names. */
  readonly given: readonly string[];
  option(name: string): string | undefined;
  flag(name: string): boolean;
  readonly isJson: boolean;
  /** Prints a value with `--json`, and otherwise the lines. */
  show(value: unknown, lines: () => readonly string[]): void;
  /** Prints how far long work is, apart from the output. */
  progress(line: string): void;
}

interface Definition {
  /** The command's words and arguments, such as "accounts freeze <account id>". */
  readonly usage: string;
  readonly about: string;
  /** Options with a value. */
  readonly options?: readonly string[];
  readonly flags?: readonly string[];
  /** How many arguments it may have. */
  readonly arguments?: readonly [least: number, most: number];
  /** Returns the exit code; 0 where it returns none. */
  run(asked: Asked): Promise<number | undefined>;
}

/** Makes a command that calls the services: each takes `--reason` and `--json`. */
export function adminCommand(definition: Definition): Command {
  const { about, options = [], flags = [] } = definition;
  const [least, most] = definition.arguments ?? [0, 0];
  const usage = `${definition.usage} --reason <why> [--json]`;
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const known = {
    reason: text,
    json: flag,
    ...Object.fromEntries(options.map((name) => [name, text])),
    ...Object.fromEntries(flags.map((name) => [name, flag])),
  };
  return command({
    usage,
    about,
    options: known,
    positionals: most > 0,
    async run({ values, positionals, env, print }) {
      const all: Readonly<Record<string, unknown>> = values;
      const { reason, json: isJson } = all;
      if (typeof reason !== "string") throw new UsageError(usage, "--reason is missing: it is recorded");
      if (positionals.length < least || positionals.length > most) throw new UsageError(usage);
      return withServices(env, async (services) => {
        const asked: Asked = {
          services,
          reason,
          given: positionals,
          option: (name) => (typeof all[name] === "string" ? all[name] : undefined),
          flag: (name) => all[name] === true,
          isJson: isJson === true,
          show(value, lines) {
            if (isJson === true) print(toJson(value));
            else for (const line of lines()) print(line);
          },
          progress: (line) => void process.stderr.write(`${neutralize(line)}\n`),
        };
        return (await definition.run(asked)) ?? 0;
      });
    },
  });
}
