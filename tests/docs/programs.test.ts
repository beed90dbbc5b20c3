import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import { beforeAll, expect, it, vi } from "vitest";
import { stack } from "../support/person.ts";
import { blocksOf, pages } from "./blocks.ts";
import { BROWSER_PAGES, PHONE_PAGES } from "./how-blocks-run.ts";

const programPages = pages.filter(
  (page) => !PHONE_PAGES.includes(page) && blocksOf(page).some(({ language }) => language === "ts"),
);
/** Below the checkout, where packages are found, and outside of what `npm run check` reads. */
const folder = join(root, ".local/docs-programs");
const setUpOf = (page: string) => join(import.meta.dirname, "set-up", `${page}.ts`);
const fileOf = (page: string) => join(folder, `${page}.ts`);

/** The documented URLs and paths, and those of the stack that the programs run on. */
const REPLACED: readonly [documented: string, here: string][] = [
  ["https://api.example.com", stack.gateway],
  ["http://localhost:8080", stack.gateway],
  ["http://localhost:9000", stack.identityProvider.issuer],
  ["../countersign/.local/stack.json", join(folder, "stack.json")],
];

/** Returns the names that a module exports. */
const exportsOf = (text: string): string[] =>
  [...text.matchAll(/^export (?:const |(?:async )?function )?(?:\{([^}]*)\}|(\w+))/gm)].flatMap(([, list, name]) =>
    list === undefined ? name! : list.split(",").map((each) => each.trim()),
  );

/** Returns a page's blocks as one program, after an import of what the page takes as given: its set-up. */
function programOf(page: string): string {
  const setUp = setUpOf(page);
  const given = existsSync(setUp) ? exportsOf(readFileSync(setUp, "utf8")) : [];
  const blocks = blocksOf(page).filter(({ language }) => language === "ts");
  const program = blocks.map(({ at, text }) => `// ${at}\n${text}`).join("\n");
  const replaced = REPLACED.reduce((text, [documented, here]) => text.replaceAll(documented, here), program);
  const used = given.filter((name) => name !== "prints" && new RegExp(`\\b${name}\\b`).test(program));
  const imports = used.length > 0 ? `import { ${used.join(", ")} } from ${JSON.stringify(setUp)};\n` : "";
  return `${imports}${replaced}\nexport {};\n`;
}

beforeAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "stack.json"), JSON.stringify(stack));
  for (const page of programPages) writeFileSync(fileOf(page), programOf(page));
  const config = {
    extends: join(root, "tsconfig.base.json"),
    // An app developer's `strict`, without this repository's further options.
    compilerOptions: {
      lib: ["es2024", "esnext.disposable", "dom", "dom.iterable"],
      noUnusedLocals: false,
      exactOptionalPropertyTypes: false,
      noUncheckedIndexedAccess: false,
    },
    // FCL ships no declarations.
    include: ["*.ts", join(root, "tests/e2e/onflow-fcl.d.ts")],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  await run(join(root, "node_modules/.bin/tsc"), ["-p", folder]);
}, 300_000);

it.each(programPages.filter((page) => !BROWSER_PAGES.includes(page)))(
  "the program of docs/%s.md runs",
  {
    timeout: 120_000,
  },
  async (page) => {
    const setUp = setUpOf(page);
    type SetUp = { prints?: RegExp[]; afterwards?: () => Promise<void> };
    const { prints = [], afterwards } = existsSync(setUp) ? ((await import(setUp)) as SetUp) : {};
    const print = vi.spyOn(console, "log").mockImplementation(() => {});
    try {
      await import(fileOf(page));
      // For a program that serves: plays its caller.
      await afterwards?.();
      const printed = print.mock.calls.map((values) => values.join(" ")).join("\n");
      for (const expected of prints) expect(printed).toMatch(expected);
    } finally {
      print.mockRestore();
      vi.unstubAllGlobals();
    }
  },
);
