import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { PUSH_KINDS } from "./push-kinds.ts";

const docs = readFileSync(new URL("../../../../docs/events.md", import.meta.url), "utf8");

/** The rows of docs/events.md whose first cell is a kind of push: kind, and events of the second cell. */
const documented = docs
  .split("\n")
  .map((line) =>
    /^\| `((?:two-factor|notice)\.[a-z-]+)` \| (`[a-z-]+\.[a-z-]+`(?:, `[a-z-]+\.[a-z-]+`)*) \|/.exec(line),
  )
  .flatMap((row) => (row ? [[row[1], row[2]!.replaceAll("`", "").split(", ")]] : []));

it("docs/events.md lists every kind of push, its events, and no other", () => {
  expect(documented).toEqual(Object.entries(PUSH_KINDS));
});
