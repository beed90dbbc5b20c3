import { join } from "node:path";
import { defineConfig } from "vitepress";
import { copySources, writeForModels } from "./at-build.ts";
import { anchorOf, repositoryLinks } from "./links.ts";
import { readSections } from "./pages.ts";

const docs = join(import.meta.dirname, "..");
const description = "An open account and co-signing backend for mobile apps and games, on Flow.";
const sections = readSections(docs);
const sources = new Set<string>();

export default defineConfig({
  title: "Countersign",
  description,
  lang: "en",
  rewrites: (page: string) => page.replace(/(^|\/)README\.md$/, "$1index.md"),
  // The local stack's pages are there while it runs.
  ignoreDeadLinks: "localhostLinks",
  markdown: {
    // Pages hold no HTML: `<name>` in a sentence is text.
    html: false,
    anchor: { slugify: anchorOf },
    config(md) {
      repositoryLinks(md, sources);
      const fence = md.renderer.rules.fence!;
      md.renderer.rules.fence = (tokens, index, ...rest) => {
        const block = tokens[index]!;
        if (block.info === "mermaid") return `<MermaidDiagram source="${encodeURIComponent(block.content)}" />`;
        // Shiki has no grammar of PromQL.
        if (block.info === "promql") block.info = "txt";
        return fence(tokens, index, ...rest);
      };
    },
  },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    sidebar: sections.map(({ title, pages }) => ({
      text: title,
      collapsed: title === "Operating" || title === "Changing",
      items: pages.map((page) => ({ text: page.title, link: `/${page.path.replace(/(README)?\.md$/, "")}` })),
    })),
  },
  vite: {
    // Mermaid's diagrams are loaded when a page has one.
    build: { chunkSizeWarningLimit: 4000 },
  },
  buildEnd({ outDir }) {
    copySources(join(docs, ".."), outDir, sources);
    writeForModels(docs, outDir, description);
  },
});
