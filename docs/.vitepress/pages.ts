import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A page of the documentation, as its row in docs/README.md says. */
export interface Page {
  /** Relative to docs/, with `.md`. */
  readonly path: string;
  /** The page's heading. */
  readonly title: string;
  /** The question that it answers, in Markdown. */
  readonly answers: string;
}

export interface Section {
  readonly title: string;
  readonly pages: Page[];
}

/** Reads the sections of the table in docs/README.md. Rows of pages outside of docs/ are left out. */
export function readSections(docs: string): Section[] {
  const sections: Section[] = [];
  for (const row of readFileSync(join(docs, "README.md"), "utf8").matchAll(/^\| (.*?) \| (.*?) ?\|$/gm)) {
    const [, first = "", answers = ""] = row;
    const title = /^\*\*(.+)\*\*$/.exec(first)?.[1];
    const path = /\]\(([\w/-]+\.md)\)/.exec(first)?.[1];
    if (title !== undefined) sections.push({ title, pages: [] });
    else if (path !== undefined) sections.at(-1)?.pages.push({ path, title: titleOf(docs, path), answers });
  }
  return sections;
}

const titleOf = (docs: string, path: string): string =>
  /^# (.+)$/m.exec(readFileSync(join(docs, path), "utf8"))?.[1]?.replaceAll("`", "") ?? path;
