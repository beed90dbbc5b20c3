import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { SOURCES } from "./links.ts";
import { readSections } from "./pages.ts";

/** Writes the files that pages link to as text; of a folder the list of its files. */
export function copySources(root: string, outDir: string, sources: Iterable<string>): void {
  for (const source of sources) {
    const path = join(root, source);
    const text = statSync(path).isDirectory() ? readdirSync(path).join("\n") : readFileSync(path, "utf8");
    const to = join(outDir, SOURCES, `${source}.txt`);
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, text);
  }
}

/**
 * Writes every page as Markdown, llms.txt, which lists them (https://llmstxt.org), and llms-full.txt, which
 * holds them all in the order of the sidebar.
 */
export function writeForModels(docs: string, outDir: string, about: string): void {
  const sections = readSections(docs);
  const lists = sections.map(({ title, pages }) =>
    [`## ${title}`, "", ...pages.map((page) => `- [${page.title}](/${page.path}): ${page.answers}`)].join("\n"),
  );
  writeFileSync(join(outDir, "llms.txt"), `# Countersign\n\n> ${about}\n\n${lists.join("\n\n")}\n`);
  const paths = sections.flatMap(({ pages }) => pages.map(({ path }) => path));
  const texts = paths.map((path) => {
    const text = readFileSync(join(docs, path), "utf8");
    mkdirSync(dirname(join(outDir, path)), { recursive: true });
    writeFileSync(join(outDir, path), text);
    return `<!-- ${path} -->\n\n${text}`;
  });
  writeFileSync(join(outDir, "llms-full.txt"), texts.join("\n"));
}
