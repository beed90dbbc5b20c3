import { type Command, command, UsageError } from "@countersign/runtime";
import { type Columns, neutralize, tableLines, toJson } from "./output.ts";
import { type Services, withServices } from "./services.ts";

/** The input of an administrator's command, and its output. */
export interface Asked {
  readonly services: Services;
  readonly reason: string;
  /** The arguments, as many as the usage names. */
  readonly given: readonly string[];
  option(name: string): string | undefined;
  /** Returns an option that must be given. */
  required(name: string): string;
  /** Returns the option `--limit`, which the command has. */
  limit(otherwise: number): number;
  flag(name: string): boolean;
  /** Prints a value with `--json`, and otherwise the lines. */
  show(value: unknown, lines: () => readonly string[]): void;
  /** Prints rows with `--json`, and otherwise a table with these columns. */
  table<Row>(rows: readonly Row[], columns: Columns<Row>): void;
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
  /** Returns the exit code; 0 where it returns no number. */
  run(asked: Asked): Promise<unknown>;
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
        const option = (name: string) => (typeof all[name] === "string" ? all[name] : undefined);
        const show: Asked["show"] = (value, lines) => {
          if (isJson === true) print(toJson(value));
          else for (const line of lines()) print(line);
        };
        const asked: Asked = {
          services,
          reason,
          given: positionals,
          option,
          required(name) {
            const value = option(name);
            if (value === undefined) throw new UsageError(definition.usage, `--${name} is missing`);
            return value;
          },
          limit(otherwise) {
            const limit = Number(option("limit") ?? otherwise);
            if (!Number.isInteger(limit) || limit < 1) throw new UsageError(definition.usage, "--limit is no number");
            return limit;
          },
          flag: (name) => all[name] === true,
          show,
          table(rows, columns) {
            const cells = rows.map((row) => Object.values(columns).map((cell) => cell(row)));
            show(rows, () => tableLines(Object.keys(columns), cells));
          },
          progress: (line) => void process.stderr.write(`${neutralize(line)}\n`),
        };
        return definition.run(asked);
      });
    },
  });
}
