import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import { expect } from "vitest";
import { stack } from "../support/person.ts";
import { blocksOf } from "./blocks.ts";

/**
 * Follows a page that starts in an empty folder: does `work` in such a folder after the page's commands.
 * `start` is the page's first command, in whose place the stack of this test runs.
 */
export async function inEmptyFolder(page: string, start: string, work: (app: string) => Promise<void>): Promise<void> {
  const place = mkdtempSync(join(tmpdir(), `countersign-${page}-`));
  const [checkout, app] = [join(place, "countersign"), join(place, "app")];
  const [service, build, inFolder] = blocksOf(page).flatMap(({ language, text }) => (language === "sh" ? [text] : []));
  try {
    expect(service).toBe(`${start}\n`);
    mkdirSync(join(checkout, ".local"), { recursive: true });
    writeFileSync(join(checkout, ".local/stack.json"), JSON.stringify(stack));
    const out = join(checkout, "dist");
    await run("bash", ["-euo", "pipefail", "-c", `${build!.trim()} -- --out ${out}`], { cwd: root });
    mkdirSync(app);
    await run("bash", ["-euo", "pipefail", "-c", inFolder!], { cwd: app });
    await work(app);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}
