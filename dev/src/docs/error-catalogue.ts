import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { REASON_TOPICS } from "@countersign/core";

const PAGE = "docs/errors.md";
/** The catalogue begins with its first topic; the text above it is written by hand. */
const TOPICS = Object.entries(REASON_TOPICS).map(([topic, reasons]) => ({ heading: `\n## ${topic}\n`, reasons }));

/** Returns docs/errors.md as it must be: its text above the catalogue, and its entries by topic. */
export function errorPage(root: string): string {
  const [above = ""] = readFileSync(join(root, PAGE), "utf8").split(TOPICS[0]?.heading ?? "");
  const topics = TOPICS.map(({ heading, reasons }) => {
    const entries = Object.entries(reasons).map(
      ([reason, { http, title, cause, remedy }]) =>
        `### ${reason}\n**${http}. ${title}.**\n\n${wrapped(cause)}\n\n${wrapped(`Remedy: ${remedy}`)}\n`,
    );
    return `${heading}\n${entries.join("\n")}`;
  });
  return above + topics.join("");
}

/** Breaks a text into lines of at most 110 columns. */
function wrapped(text: string): string {
  return text.replace(/(?=.{111})(.{1,110}) /g, "$1\n");
}

/** Returns a problem where docs/errors.md is not what the table of reasons says. */
export function checkErrorPage(root: string): string[] {
  return readFileSync(join(root, PAGE), "utf8") === errorPage(root)
    ? []
    : [`${PAGE} is not what packages/core/src/reasons says: \`npm run docs -- --write\` writes it`];
}

export const writeErrorPage = (root: string): void => writeFileSync(join(root, PAGE), errorPage(root));
