import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, posix } from "node:path";
import { trackedFiles } from "./check-words.ts";

/** Code spans that begin with one of these folders are paths of the repository. */
const PATH = /^(\.ci|apps|bench|deploy|dev|docs|examples|gateway|packages|proto|services|tests)\/[\w./-]*\w\/?$/;

/** Returns the anchors of a Markdown file, as GitHub makes them from its headings. */
export function anchorsOf(text: string): Set<string> {
  const headings = withoutCode(text).match(/^#+ .*$/gm) ?? [];
  const anchors = new Set<string>();
  for (const heading of headings) {
    const words = heading.replace(/^#+ /, "").toLowerCase();
    const anchor = words.replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-");
    let unique = anchor;
    for (let count = 1; anchors.has(unique); count += 1) unique = `${anchor}-${count}`;
    anchors.add(unique);
  }
  return anchors;
}

const withoutCode = (text: string) => text.replace(/^```[\s\S]*?^```/gm, "");

/** Returns the relative links of a Markdown file and the repository paths that it names in code spans. */
export function referencesOf(text: string): { links: string[]; paths: string[] } {
  const prose = withoutCode(text);
  const links = [...prose.replace(/`[^`]*`/g, "").matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1]!);
  const spans = [...prose.matchAll(/`([^`\n]+)`/g)].map((match) => match[1]!);
  return {
    links: links.filter((link) => !/^[a-z]+:/.test(link)),
    paths: spans.filter((span) => PATH.test(span)),
  };
}

/** Returns each page below docs/ that the README.md of its folder does not link to. */
function unlistedPages(root: string, pages: string[]): string[] {
  return pages
    .filter((path) => path.startsWith("docs/") && !path.endsWith("/README.md"))
    .filter((path) => {
      const index = join(root, dirname(path), "README.md");
      return !existsSync(index) || !referencesOf(readFileSync(index, "utf8")).links.includes(basename(path));
    })
    .map((path) => `${dirname(path)}/README.md: has no link to ${basename(path)}`);
}

/** Returns each missing page of docs/ that a comment or message in code names. */
function missingPages(root: string, files: string[]): string[] {
  return files
    .filter((path) => /\.(ts|mjs|proto|prisma|py|go|yml)$/.test(path) && !/^dev\/src\/check-.*\.test\.ts$/.test(path))
    .flatMap((path) => {
      const pages = readFileSync(join(root, path), "utf8").match(/\bdocs\/[\w/-]+\.md\b/g) ?? [];
      return pages.filter((page) => !existsSync(join(root, page))).map((page) => `${path}: there is no ${page}`);
    });
}

/**
 * Returns each link to a missing file or heading and each missing path in the Markdown files of the
 * repository, each page below docs/ that no index lists, and each missing page that code names.
 */
export function checkLinks(root: string): string[] {
  const files = trackedFiles(root);
  const pages = files.filter((path) => path.endsWith(".md"));
  const missing = [...unlistedPages(root, pages), ...missingPages(root, files)];
  for (const path of pages) {
    const { links, paths } = referencesOf(readFileSync(join(root, path), "utf8"));
    for (const link of links) {
      const [file = "", anchor] = link.split("#");
      const target = file === "" ? path : posix.join(dirname(path), file);
      if (!existsSync(join(root, target))) missing.push(`${path}: there is no ${target}`);
      else if (anchor && !anchorsOf(readFileSync(join(root, target), "utf8")).has(anchor))
        missing.push(`${path}: ${target} has no heading #${anchor}`);
    }
    for (const named of paths) {
      if (existsSync(join(root, named))) continue;
      if (!isIgnored(root, named)) missing.push(`${path}: there is no ${named}`);
    }
  }
  return missing;
}

/** Returns whether git ignores the path: it is generated, and may not be there yet. */
const isIgnored = (root: string, path: string) =>
  spawnSync("git", ["check-ignore", "--quiet", path], { cwd: root }).status === 0;
