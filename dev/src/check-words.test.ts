import { root } from "@countersign/build/paths.ts";
import { expect, test } from "vitest";
import {
  checkFile,
  findHiddenSubjects,
  findLongLines,
  findRetiredWords,
  readWordList,
  type WordList,
} from "./check-words.ts";

const list = readWordList(root);
const words = (path: string, text: string) => findRetiredWords(path, text, list.words);

test.each([
  ["a.ts", "// A stranger's key."],
  ["a.ts", "const wish: SignUpWish = read();"],
  ["a.ts", "function settleDoubtful() {}"],
  ["a.proto", "  rpc DescribeAdmission(DescribeAdmissionRequest)"],
  ["a.sql", "ALTER TABLE device ADD COLUMN asker_id uuid;"],
  ["a.md", "Whoever asks is refused."],
  ["a.md", "A new device asks to be let in."],
  ["a.md", "This lets a new device in."],
  ["a.md", "The delay begins."],
  ["tests/two-factor-newcomers.ts", ""],
])("%s: %s has a retired word", (path, text) => {
  expect(words(path, text)).not.toEqual([]);
});

test("a phrase that continues on the next comment line is found once, at its first line", () => {
  expect(words("a.ts", "/**\n * This stands\n * for the key.\n */")).toEqual([
    expect.stringMatching(/^a\.ts:2: "stands for" is retired, use is in/),
  ]);
});

test.each([
  ["a.ts", "for (let index = 0; index < 3; index += 1) await delay(10);"],
  ["a.ts", "// The mask of the task lets the caller pass values in an array."],
  ["a.md", "The setting is `SIGNER_TIME_LOCK_SECONDS`, see [time locks](recovery.md#delays)."],
  ["a.md", "```sh\ncurl localhost/account/v1/delays # delay\n```"],
])("%s: %s has none", (path, text) => {
  expect(words(path, text)).toEqual([]);
});

test("a message says where the word is, what to use and why", () => {
  expect(words("docs/a.md", "Fine.\nIt is built anew.")).toEqual([
    'docs/a.md:2: "anew" is retired, use again (the usual word)',
  ]);
});

test.each([
  ["a.ts", "/** What a proof is made from. */"],
  ["a.ts", "  // Waits for it. Who comes later waits too."],
  ["a.ts", " * Whose key it is\n * decides."],
  ["a.proto", "// Which account."],
  ["a.md", "What counts is the time of the login."],
  ["a.md", "- **What the client learns**, for every kind of end:"],
  ["a.test.ts", 'it("what one replica knows the others know", () => {});'],
  ["a.test.ts", '  ["what nobody knows", 1],'],
])("%s: %s has a sentence with a hidden subject", (path, text) => {
  expect(findHiddenSubjects(path, text)).toEqual([expect.stringMatching(/:1: a sentence starts with/)]);
});

test.each([
  ["a.ts", "/** Returns what a proof is made from, and which key signed it. */"],
  ["a.ts", 'const title = "What changed";'],
  ["a.md", "## What is counted"],
  ["a.md", "What ends a session? A sign-out\ndoes."],
  ["a.md", "| What | Where |"],
  ["a.md", "```\nWhat is this\n```"],
  ["a.test.ts", 'it("knows what one replica knows", () => {});'],
])("%s: %s has none", (path, text) => {
  expect(findHiddenSubjects(path, text)).toEqual([]);
});

const long = "x".repeat(55);

test.each([
  ["a.ts", `// ${long} ${long}`],
  ["a.ts", ` * ${long} ${long}`],
  ["a.md", `${long} ${long}`],
  ["a.sql", `-- ${long} ${long}`],
])("%s: a line of 111 columns or more is too long: %s", (path, text) => {
  expect(findLongLines(path, text)).toEqual([expect.stringMatching(/:1: \d+ columns, at most 110/)]);
});

test.each([
  ["a.ts", `call("${long}", "${long}");`],
  ["a.ts", `// see https://example.com/${long}${long}`],
  ["a.md", `| ${long} | ${long} |`],
  ["a.md", `\`\`\`\n${long} ${long}\n\`\`\``],
  ["a.md", `${"x".repeat(55)} ${"ä".repeat(54)}`],
])("%s: a long line may be code, a table, a URL: %s", (path, text) => {
  expect(findLongLines(path, text)).toEqual([]);
});

test("a file that the list excepts may have retired words, and long lines only where that list has it", () => {
  const some: WordList = { ...list, exceptions: [{ path: "docs/glossary.md", why: "names the words" }] };
  const text = `// whoever ${long} ${long}`;
  expect(checkFile("docs/README.md", text, some)).toHaveLength(2);
  expect(checkFile("docs/glossary.md", text, some)).toEqual([expect.stringContaining("columns")]);
});
