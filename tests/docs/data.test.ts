import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { allBlocks, blocksOf } from "./blocks.ts";

const blocks = allBlocks.filter(({ language }) => language === "json");

it.each(blocks.map((block) => [block.at, block] as const))("%s is JSON", (_at, { page, text }) => {
  // Log files have a document in each line; some blocks show members without the object around them.
  const documents = page === "logs" ? text.trim().split("\n") : [text.trim().replace(/^"[\s\S]*$/, "{$&}")];
  for (const document of documents) expect(JSON.parse(document)).toBeTypeOf("object");
});

it("the program of docs/two-factor.md makes the codes of its test vectors", () => {
  const [python] = blocksOf("two-factor").filter(({ language }) => language === "python");
  const [vectors] = blocksOf("two-factor").filter(({ language }) => language === "json");
  const around = `
import hashlib, json, sys
for vector in json.load(sys.stdin):
    keys = [f"{vector[name]['algorithm']} {vector[name]['publicKey']}" for name in ("accountKey", "deviceKey")]
    text = "".join(f"{line}\\n" for line in ["countersign-matching-code-v3", vector["code"][:4], *keys])
    ${python!.text.trim().replaceAll("\n", "\n    ")}
    print(f"{vector['code'][:4]}-{second}")
`;
  const printed = execFileSync("python3", ["-c", around], { input: vectors!.text, encoding: "utf8" });
  const codes = (JSON.parse(vectors!.text) as { code: string }[]).map(({ code }) => code);
  expect(printed.trim().split("\n")).toEqual(codes);
});
