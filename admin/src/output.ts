import { isAppError } from "@countersign/core";
import type { Balance } from "@countersign/proto/account/v1/admin.ts";
import type { Table } from "@countersign/proto/admin/v1/admin.ts";

/**
 * Characters that a terminal or a reader takes for something else: control characters, which move the cursor
 * or rewrite the screen, and those that change the direction of text or cannot be seen.
 */
const UNSAFE = /[\p{Cc}\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\p{Cs}/gu;

/** Returns a text that shows on one line what it contains: others wrote it, such as a device's name. */
export const neutralize = (text: string): string =>
  text.replace(UNSAFE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);

/** Returns a value as JSON without a character that a terminal takes for a command. */
export const toJson = (value: unknown): string =>
  JSON.stringify(value, (_name, each: unknown) => (typeof each === "bigint" ? String(each) : each)).replace(
    UNSAFE,
    (character) =>
      [...Array(character.length).keys()]
        .map((i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`)
        .join(""),
  );

/** The columns of a table, by their names. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => string>>;

export const BALANCE_COLUMNS: Columns<Balance> = {
  chain: ({ chainName }) => chainName,
  owner: ({ owner }) => owner,
  address: ({ address }) => `0x${address}`,
  FLOW: ({ flow }) => flow,
};

const MAX_CELL = 44;

function cell(value: string): string {
  const safe = neutralize(value);
  return safe.length > MAX_CELL ? `${safe.slice(0, MAX_CELL - 1)}…` : safe;
}

/** Returns the lines of a table, its columns below each other. Long values are cut: `--json` has all. */
export function tableLines(columns: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const cells = [columns, ...rows].map((row) => row.map(cell));
  const widths = columns.map((_, i) => Math.max(...cells.map((row) => row[i]?.length ?? 0)));
  return cells.map((row) =>
    row
      .map((value, i) => value.padEnd(widths[i] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** Returns the lines of what a service has about an account: empty columns are left out. */
export function describedLines(service: string, { name, columns, rows, truncated }: Table): string[] {
  const filled = columns.map((_, i) => rows.some(({ values }) => (values[i] ?? "") !== ""));
  const kept = (values: readonly string[]) => values.filter((_, i) => filled[i]);
  const lines = tableLines(
    kept(columns),
    rows.map(({ values }) => kept(values)),
  );
  return ["", `${service}: ${neutralize(name)}`, ...lines.map((line) => `  ${line}`), ...(truncated ? ["  …"] : [])];
}

/** Returns the lines that report an error; its text may repeat what somebody else wrote. */
export function errorLines(error: unknown): string[] {
  const fields = isAppError(error) ? error.fields.map(({ pointer, detail }) => `${pointer} ${detail}`) : [];
  return [...String((error as Error).message).split("\n"), ...fields].map(neutralize);
}
