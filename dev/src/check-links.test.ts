import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { anchorsOf, checkLinks, referencesOf } from "./check-links.ts";

const made: string[] = [];
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true });
});

/** Creates a git repository with these files; none of them is committed. */
function repository(files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), "links-"));
  made.push(root);
  execFileSync("git", ["init", "--quiet"], { cwd: root });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, path, ".."), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

test("anchors are made as GitHub makes them", () => {
  const page = "# A fresh login\n## What's `kept`, and why\n```sh\n# no heading\n```\n## Limits\n## Limits\n";
  expect([...anchorsOf(page)]).toEqual(["a-fresh-login", "whats-kept-and-why", "limits", "limits-1"]);
});

test("links of other sites, commands and patterns are not checked", () => {
  const page = "[a](https://example.com) [b](b.md#c) `docs/b.md` `npm test` `tests/*.ts` `services/<name>/src`";
  expect(referencesOf(page)).toEqual({ links: ["b.md#c"], paths: ["docs/b.md"] });
});

test("a missing file, heading or path is found, and a page that no index lists", () => {
  const root = repository({
    ".gitignore": "proto/gen/\n",
    "docs/a.md": "# A\n[own](#a) [b](b.md#b) [x](x.md) [y](b.md#y) `docs/b.md` `dev/src/gone.ts` `proto/gen/a.ts`",
    "docs/b.md": "# B\n[up](../README.md)",
    "docs/README.md": "[a](a.md)",
    "README.md": "# R",
    "services/a.ts": "// See docs/a.md and docs/gone.md.",
  });
  expect(checkLinks(root)).toEqual([
    "docs/README.md: has no link to b.md",
    "services/a.ts: there is no docs/gone.md",
    "docs/a.md: there is no docs/x.md",
    "docs/a.md: docs/b.md has no heading #y",
    "docs/a.md: there is no dev/src/gone.ts",
  ]);
});
