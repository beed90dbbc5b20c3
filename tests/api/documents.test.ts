import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { document, generate, runPython, work } from "./tools.ts";

const filesOf = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());

describe("the served document", () => {
  it("is valid for openapi-spec-validator", async () => {
    expect(await runPython(["-m", "openapi_spec_validator", document])).toMatchObject({ code: 0 });
  });

  it("is a Python package of under 120 files, without warnings", async () => {
    const folder = join(work, "python", "countersign_client");
    const options = ["--path", document, "--output-path", folder, "--meta", "none"];
    const { text, code } = await runPython(["-m", "openapi_python_client", "generate", ...options]);
    expect(code, text).toBe(0);
    expect(text).not.toMatch(/warning|error|skip/i);
    expect(filesOf(folder).filter(({ name }) => name.endsWith(".py")).length).toBeLessThan(120);
  });

  // The first is about OpenAPI 3.1 as such; the second about every answer that is no JSON, here the events.
  const OF_THE_GENERATOR = [/OpenAPI 3\.1 support is still in beta/, /No application\/json content media type found/];

  it.each([
    ["swift6", "useJsonEncodable=true"],
    ["kotlin", "serializationLibrary=gson,generateOneOfAnyOfWrappers=true"],
    ["typescript-fetch", "supportsES6=true"],
  ])("is a client by openapi-generator's %s, without warnings about the document", async (generator, options) => {
    const { text, code, folder } = await generate(generator, options);
    expect(code, text).toBe(0);
    const complaints = text.split("\n").filter((line) => /\b(WARN|ERROR)\b|Illegal|Exception/.test(line));
    expect(complaints.filter((line) => !OF_THE_GENERATOR.some((known) => known.test(line)))).toEqual([]);
    const names = filesOf(folder).map(({ name }) => name);
    expect(
      names.filter((name) =>
        /^(Account|Device|Key|TwoFactorAuth|Session|Credentials|Problem)\.(?:swift|kt|ts)$/.test(name),
      ),
    ).toHaveLength(7);
    // Names such as InlineObject are of schemas that have none of their own.
    expect(names.filter((name) => /inline|_?(?:200|4\d\d)_?response|(?:OneOf|AnyOf|AllOf)/i.test(name))).toEqual([]);
  });
});
