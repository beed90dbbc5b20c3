import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "@countersign/build/run.ts";
import { expect, it } from "vitest";
import { blocksOf } from "./blocks.ts";
import { inEmptyFolder } from "./empty-folder.ts";

it("the quick start leads from an empty folder to a sealed transaction", { timeout: 600_000 }, async () => {
  await inEmptyFolder("quick-start", "npm start", async (app) => {
    const [program] = blocksOf("quick-start").filter(({ language }) => language === "ts");
    writeFileSync(join(app, "app.ts"), program!.text);
    const printed = await run(process.execPath, ["app.ts"], { cwd: app });
    expect(printed).toMatch(/^cadence 0x[0-9a-f]{16}\nevm 0x[0-9a-f]{40}\nSealed [0-9a-f]{64}\n$/);
    // Thirty lines of code, as promised.
    const code = program!.text.split("\n").filter((line) => line.trim() !== "" && !line.trim().startsWith("//"));
    expect(code.length).toBeLessThanOrEqual(30);
  });
});
