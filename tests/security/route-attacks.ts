import { beforeAll } from "vitest";
import { newVictim, type Victim } from "./attacker.ts";

export let victim: Victim;
beforeAll(async () => {
  victim = await newVictim();
});

/** Returns every field of a document, by JSON pointer. */
export function fieldsOf(value: unknown, pointer = ""): { pointer: string; value: unknown }[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => [
    { pointer: `${pointer}/${name}`, value: inner },
    ...fieldsOf(inner, `${pointer}/${name}`),
  ]);
}

/** Returns a copy of a document with one field replaced. */
export function replaced(document: unknown, pointer: string, value: unknown): unknown {
  const [, name, ...rest] = pointer.split("/");
  const entries = Object.entries(document as Record<string, unknown>);
  return Object.fromEntries(
    entries.map(([key, inner]) => [
      key,
      key !== name ? inner : rest.length === 0 ? value : replaced(inner, `/${rest.join("/")}`, value),
    ]),
  );
}

export const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;

/** Values that are valid for no string field and for no object. */
export const WRONG_TYPES: [string, unknown][] = [
  ["null", null],
  ["a number", 1],
  ["a huge number", 1e308],
  ["true", true],
  ["an array", ["x"]],
  ["an empty array", []],
  ["an array of the same", [["x"]]],
];
export const NEVER_TEXT: [string, unknown][] = [
  ["an object", { toString: "x", length: 5 }],
  ["an empty object", {}],
  ["a long string", "x".repeat(20_000)],
  ["a lone surrogate", "\ud800"],
  ["a lone surrogate inside", "a\udc00b"],
  ["NUL", "a\u0000b"],
];
/** Well-formed text that could deceive a reader: stored unchanged, or refused by the field's rules. */
export const DECEIVING_TEXT: [string, string][] = [
  ["an empty string", ""],
  ["right to left", "\u202egpj.exe"],
  ["zero width", "a\u200bd\u200dm\ufeffin"],
  ["homoglyphs", "flow-\u0435mulator"],
  ["combining marks", `e${"\u0301".repeat(60)}`],
  ["line breaks", "a\r\nSet-Cookie: a=b\r\n\r\n"],
  ["quotes", "' OR 1=1; DROP TABLE session; --"],
  ["a template", `\${7*7}{{7*7}}<script>alert(1)</script>`],
  ["a path", "../../../../etc/passwd"],
  ["fullwidth digits", "\uff11\uff12"],
  ["a name of Object", "__proto__"],
  ["another name of Object", "constructor"],
  ["an astral character", "\u{1f600}"],
];
