import { posix } from "node:path";
import type { MarkdownEnv, MarkdownRenderer } from "vitepress";

/** The folder of the site with the linked files of the repository that are no pages. */
export const SOURCES = "repository";

/** Returns an anchor as GitHub makes it from a heading, so that one link works in both places. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

/**
 * Changes links as they work on GitHub into those of the site: a folder's README.md is its index, and a file
 * outside of docs/ is text below /repository. Each such file is added to `sources`.
 */
export function repositoryLinks(md: MarkdownRenderer, sources: Set<string>): void {
  md.core.ruler.push("repository-links", (state) => {
    const { relativePath } = state.env as MarkdownEnv;
    for (const token of state.tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.type === "link_open" ? token.attrGet("href") : null;
      if (!href || /^([a-z]+:|#)/.test(href)) continue;
      const [file = "", anchor] = href.split("#");
      const target = posix.join("docs", posix.dirname(relativePath), file);
      if (target.startsWith("docs/")) {
        const page = file.replace(/(^|\/)README\.md$/, "$1index.md");
        token.attrSet("href", anchor ? `${page}#${anchor}` : page);
      } else {
        sources.add(target);
        token.attrSet("href", `/${SOURCES}/${target}.txt`);
        token.attrSet("target", "_blank");
      }
    }
  });
}
