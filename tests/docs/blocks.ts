import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";

/** A code block of a page of docs/. */
export interface Block {
  /** The page's name, without `.md`. */
  readonly page: string;
  /** Such as `ts`; "" for a drawing, an HTTP message or output. */
  readonly language: string;
  readonly text: string;
  /** `page.md:line`, for messages. */
  readonly at: string;
}

/** Returns the code blocks of a page, in order. */
export function blocksOf(page: string): Block[] {
  const text = readFileSync(join(root, "docs", `${page}.md`), "utf8");
  return [...text.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)].map(([, language = "", block = ""], index, all) => {
    const line = text.slice(0, all[index]!.index).split("\n").length;
    return { page, language: language.trim(), text: block, at: `docs/${page}.md:${line}` };
  });
}

/** The names of all pages, also of runbooks and decisions. */
export const pages: string[] = ["", "adr/", "runbooks/"].flatMap((folder) =>
  readdirSync(join(root, "docs", folder))
    .filter((file) => file.endsWith(".md"))
    .map((file) => folder + file.replace(/\.md$/, "")),
);

export const allBlocks: Block[] = pages.flatMap(blocksOf);
