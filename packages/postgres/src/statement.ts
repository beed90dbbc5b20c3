import { readFileSync } from "node:fs";

/** A statement with its values. Postgres parses and plans each `name` once per connection, "" every time. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

let named = 0;
const nextName = (): string => `statement${named++}`;

const known = new WeakMap<TemplateStringsArray, { name: string; text: string }>();

/**
 * Returns the statement of a tagged template; Postgres receives the values separately from the text. null is
 * a value, undefined is an error.
 */
export function sql(parts: TemplateStringsArray, ...values: readonly unknown[]): Statement {
  let statement = known.get(parts);
  if (statement === undefined) {
    statement = { name: nextName(), text: parts.reduce((before, part, i) => `${before}$${i}${part}`) };
    known.set(parts, statement);
  }
  if (values.includes(undefined)) throw new TypeError(`a value is missing in: ${statement.text}`);
  return { ...statement, values };
}

/** A value of a statement; null is one, undefined is not. */
export type Value = string | number | bigint | boolean | Date | Uint8Array | null | readonly Value[];

/** Makes a statement of a file with its values by name. Errors: TypeError for one that is missing. */
export type StatementOf = (values: Readonly<Record<string, Value>>) => Statement;

/**
 * Reads a statement with parameters like `:accountId` from a file. The result makes a statement of an object
 * with a value for each parameter; null is a value, a missing one is an error. `planned: "each-time"` is for
 * a rare statement whose best plan depends on how full its tables are.
 */
export function sqlFile(file: URL, { planned = "once" }: { planned?: "once" | "each-time" } = {}): StatementOf {
  const parameters: string[] = [];
  // Not the second colon of a cast.
  const text = readFileSync(file, "utf8").replace(/(?<!:):([a-z]\w*)/gi, (_, parameter: string) => {
    if (!parameters.includes(parameter)) parameters.push(parameter);
    return `$${parameters.indexOf(parameter) + 1}`;
  });
  const name = planned === "once" ? nextName() : "";
  return (values) => ({
    name,
    text,
    values: parameters.map((parameter) => {
      const value = values[parameter];
      if (value === undefined || (Array.isArray(value) && value.includes(undefined)))
        throw new TypeError(`${file.pathname}: parameter ${parameter} has no value`);
      return value;
    }),
  });
}

/** Returns the columns of rows, at least one, for `unnest`. */
export function columnsOf(rows: readonly Readonly<Record<string, Value>>[]): Record<string, Value[]> {
  const names = Object.keys(rows[0] ?? {});
  return Object.fromEntries(names.map((name) => [name, rows.map((row) => row[name] as Value)]));
}
