import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";

/** One entry of `words` in dev/words.json. */
interface RetiredWord {
  retired: string;
  use: string;
  why: string;
  /** "markdown": the word is retired in the prose of Markdown files only. */
  only?: "markdown";
}

interface Exception {
  path: string;
  why: string;
}

/** The content of dev/words.json. */
export interface WordList {
  words: RetiredWord[];
  /** Files in which every word and every sentence is allowed. */
  exceptions: Exception[];
  /** Files in which comment lines may be longer. */
  longLines: Exception[];
}

const MAX_COLUMNS = 110;

/** How a comment line begins, by the ending of the file. */
const commentStart = new Map<string, RegExp>([
  ...[".ts", ".tsx", ".mjs", ".js", ".css", ".kt", ".swift"].map(
    (ending) => [ending, /^\s*(\/\/|\/\*|\*(\s|\/|$))/] as const,
  ),
  ...[".proto", ".prisma", ".go", ".cdc", ".mod"].map((ending) => [ending, /^\s*(\/\/|\/\*|\*\s)/] as const),
  ...[".py", ".sh", ".yml", ".yaml", ".toml", ""].map((ending) => [ending, /^\s*#/] as const),
  [".sql", /^\s*--/],
]);

const isMarkdown = (path: string) => extname(path) === ".md";

/** Takes names apart into words: `SignUpRequest` and `sign_up_request` become "sign up request". */
function plainWords(text: string): string {
  return text
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/[_-]/g, " ")
    .toLowerCase();
}

/** Removes code spans and link targets from a line of Markdown; code blocks are left out by the caller. */
function prose(line: string): string {
  return line.replace(/`[^`]*`/g, "``").replace(/\]\([^)]*\)/g, "]");
}

/** Returns the lines of a Markdown file, with the lines of code blocks empty. */
function withoutCodeBlocks(lines: string[]): string[] {
  let isCode = false;
  return lines.map((line) => {
    const fence = /^\s*```/.test(line);
    if (fence) isCode = !isCode;
    return fence || isCode ? "" : line;
  });
}

/** Finds the retired words in a path and its file, also where a phrase continues on the next line. */
export function findRetiredWords(path: string, text: string, words: RetiredWord[]): string[] {
  const everywhere = words.filter(({ only }) => only === undefined);
  const inName = findInLine(plainWords(path.replaceAll("/", " ")), "", everywhere).map((found) => `${path}: ${found}`);
  const lines = text.split("\n");
  const inText = (searched: string[], list: RetiredWord[]) => {
    const plain = searched.map((line) => plainWords(line.replace(/^\s*(\/\/+|\*|#|--)?\s*/, "")));
    if (!anyOf(list).test(plain.join(" "))) return [];
    return plain.flatMap((line, index) =>
      findInLine(line, plain[index + 1] ?? "", list).map((found) => `${path}:${index + 1}: ${found}`),
    );
  };
  const inProse = words.filter(({ only }) => only === "markdown");
  return [
    ...inName,
    ...inText(lines, everywhere),
    ...(isMarkdown(path) ? inText(withoutCodeBlocks(lines).map(prose), inProse) : []),
  ];
}

const anyOf = (words: RetiredWord[]) => new RegExp(words.map(pattern).join("|") || "(?!)");
const pattern = ({ retired }: RetiredWord) => `\\b(?:${retired})(?!\\w)`;

/** Returns the retired words that begin in a line; `next` is the line after it. */
function findInLine(line: string, next: string, words: RetiredWord[]): string[] {
  const both = `${line} ${next}`;
  return words.flatMap((word) =>
    [...both.matchAll(new RegExp(pattern(word), "g"))]
      .filter((match) => match.index < line.length)
      .map((match) => `"${match[0]}" is retired, use ${word.use} (${word.why})`),
  );
}

/** A sentence whose subject is a question word, to its end or to the end of the text. */
const HIDDEN_SUBJECT = /(?<=^|[.!?] )\**(What|Who|Whose|Which)\b[^.!?]*[.!?]?/g;
/** A test title or a row of a table of tests that starts with a question word. */
const HIDDEN_SUBJECT_IN_TITLE = /[([](["'`])(what|who) [^"'`?]*\1/g;

/**
 * Finds sentences in comments and Markdown prose that start with a question word as their subject. Questions,
 * headings and tables are left out; test titles are searched too.
 */
export function findHiddenSubjects(path: string, text: string): string[] {
  const lines = isMarkdown(path) ? withoutCodeBlocks(text.split("\n")).map(prose) : text.split("\n");
  const comment = commentStart.get(extname(path));
  const sentences = lines.map((line) => {
    if (isMarkdown(path)) return /^\s*(\||#)/.test(line) ? "" : line.replace(/^\s*([-*>]|\d+\.)?\s*/, "");
    return comment?.test(line) ? line.replace(/^\s*(\/\/+|\/\*+|\*|#+|--)\s*/, "").replace(/\s*\*\/$/, "") : "";
  });
  return lines.flatMap((line, index) => {
    const sentence = sentences[index] ?? "";
    const found = [...`${sentence} ${sentences[index + 1] ?? ""}`.matchAll(HIDDEN_SUBJECT)]
      .filter((match) => match.index < sentence.length && !match[0].endsWith("?"))
      .map((match) => match[1]);
    const titles = path.endsWith(".test.ts") ? [...line.matchAll(HIDDEN_SUBJECT_IN_TITLE)] : [];
    return [...found, ...titles.map((match) => match[2])].map(
      (word) => `${path}:${index + 1}: a sentence starts with "${word}"; name its subject`,
    );
  });
}

/** Finds comment lines and lines of Markdown prose that are longer than 110 columns. A URL may be longer. */
export function findLongLines(path: string, text: string): string[] {
  const lines = isMarkdown(path) ? withoutCodeBlocks(text.split("\n")) : text.split("\n");
  const comment = commentStart.get(extname(path));
  const isChecked = (line: string) => (isMarkdown(path) ? !/^\s*(\||#)/.test(line) : comment?.test(line));
  return lines.flatMap((line, index) =>
    isChecked(line) && [...line.replace(/https?:\/\/\S+/g, "")].length > MAX_COLUMNS
      ? [`${path}:${index + 1}: ${[...line].length} columns, at most ${MAX_COLUMNS}`]
      : [],
  );
}

/** Reads dev/words.json. */
export function readWordList(root: string): WordList {
  return JSON.parse(readFileSync(join(root, "dev/words.json"), "utf8"));
}

/** Returns the paths of all files that git knows or would add and that are there, relative to the root. */
export function trackedFiles(root: string): string[] {
  const options = { cwd: root, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 } as const;
  return execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], options)
    .split("\0")
    .filter((path) => path !== "" && existsSync(join(root, path)));
}

/** Returns each retired word, hidden subject and too long line in the text files of the repository. */
export function checkWords(root: string): string[] {
  const list = readWordList(root);
  return trackedFiles(root).flatMap((path) => {
    const text = readText(join(root, path));
    return text === undefined ? [] : checkFile(path, text, list);
  });
}

/** Returns each retired word, hidden subject and too long line of one file, except where the list has it. */
export function checkFile(path: string, text: string, list: WordList): string[] {
  const isIn = (exceptions: Exception[]) => exceptions.some((each) => each.path === path);
  return [
    ...(isIn(list.exceptions) ? [] : [...findRetiredWords(path, text, list.words), ...findHiddenSubjects(path, text)]),
    ...(isIn(list.longLines) ? [] : findLongLines(path, text)),
  ];
}

/** Returns the text of a file; undefined for a link to a folder and a file that is not text. */
function readText(path: string): string | undefined {
  try {
    const bytes = readFileSync(path);
    return bytes.includes(0) ? undefined : bytes.toString("utf8");
  } catch {
    return undefined;
  }
}
