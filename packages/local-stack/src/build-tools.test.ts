import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { expect, test } from "vitest";

test("the image of the Go tools has every file that their build imports", () => {
  const dockerfile = readFileSync(join(root, "deploy/Dockerfile"), "utf8").replaceAll("\\\n", "");
  const stage = /^FROM \S+ AS go-tools\n(.*?)^FROM/ms.exec(dockerfile)![1]!;
  const copies = [...stage.matchAll(/^COPY (?!--from)(.+) (\S+)$/gm)];
  expect(copies.length).toBeGreaterThan(3);
  const folder = mkdtempSync(join(tmpdir(), "countersign-go-tools-"));
  try {
    for (const [, sources, target] of copies)
      for (const source of sources!.trim().split(/\s+/))
        cpSync(join(root, source), join(folder, target!, target!.endsWith("/") ? basename(source) : ""), {
          recursive: true,
        });
    mkdirSync(join(folder, "node_modules/@countersign"), { recursive: true });
    symlinkSync(join(folder, "packages/build"), join(folder, "node_modules/@countersign/build"));
    const script = 'await import("./packages/local-stack/src/tools.ts")';
    execFileSync(process.execPath, ["--input-type=module", "--eval", script], { cwd: folder, stdio: "pipe" });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
