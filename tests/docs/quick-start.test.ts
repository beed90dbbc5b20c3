import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import { expect, it } from "vitest";
import { stack } from "../support/person.ts";
import { blocksOf } from "./blocks.ts";

it("the quick start leads from an empty folder to a sealed transaction", { timeout: 600_000 }, async () => {
  const place = mkdtempSync(join(tmpdir(), "countersign-quick-start-"));
  const [checkout, app] = [join(place, "countersign"), join(place, "app")];
  // The page's first block leaves this in the checkout; its `npm start` is the stack of this test.
  mkdirSync(join(checkout, ".local"), { recursive: true });
  writeFileSync(join(checkout, ".local/stack.json"), JSON.stringify(stack));
  mkdirSync(app);
  try {
    const [atCheckout, inFolder] = blocksOf("quick-start").filter(({ language }) => language === "sh");
    const build = ["dev/bootstrap.mjs", "build:packages", "--out", join(checkout, "dist")];
    expect(atCheckout!.text).toBe("npm start\nnpm run build:packages\n");
    await run(process.execPath, build, { cwd: root });
    await run("bash", ["-euo", "pipefail", "-c", inFolder!.text], { cwd: app });
    const [program] = blocksOf("quick-start").filter(({ language }) => language === "ts");
    writeFileSync(join(app, "app.ts"), program!.text);
    const printed = await run(process.execPath, ["app.ts"], { cwd: app });
    expect(printed).toMatch(/^cadence 0x[0-9a-f]{16}\nevm 0x[0-9a-f]{40}\nSealed [0-9a-f]{64}\n$/);
    // Thirty lines of code, as promised.
    const code = program!.text.split("\n").filter((line) => line.trim() !== "" && !line.trim().startsWith("//"));
    expect(code.length).toBeLessThanOrEqual(30);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
});
