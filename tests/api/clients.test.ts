import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chainName, logIn, newEmail, newPhone, stack } from "../support/person.ts";
import { LATER, laterGateway } from "./later-gateway.ts";
import { answerNames, document, generate, JVM, run, runPython, schemaNames, work } from "./tools.ts";

const programs = join(root, "tests/api/clients");

let later: Awaited<ReturnType<typeof laterGateway>>;
beforeAll(async () => {
  later = await laterGateway(stack.gateway);
});
afterAll(() => later.close());

/** Runs a program with a login and the key that it is bound to, and checks what it prints. */
async function expectStory(program: (env: Record<string, string>) => Promise<{ text: string; code: number }>) {
  const { token } = await logIn(newEmail());
  const { publicKey } = newPhone().deviceKey;
  const gateways = { GATEWAY: stack.gateway, LATER_GATEWAY: later.url };
  const { text, code } = await program({
    ...gateways,
    LOGIN_TOKEN: token,
    PUBLIC_KEY: publicKey,
    CHAIN_NAME: chainName,
  });
  expect(code, text).toBe(0);
  expect(JSON.parse(/^.*?(\{.*\})$/m.exec(text)?.[1] ?? "null"), text).toEqual({
    challengeDigits: 32,
    now: {
      sameAccount: true,
      chainTypes: ["cadence", "evm"],
      devices: [[publicKey, "ES256", "mobile"]],
      keys: [[publicKey, "user-key", "device"]],
      error: "TwoFactorAuthNotFound",
      status: 404,
    },
    // The generated client passes on what it does not know.
    later: {
      sameAccount: true,
      chainTypes: [LATER, LATER],
      devices: [[publicKey, LATER, LATER]],
      keys: [[publicKey, LATER, LATER]],
      error: LATER,
      status: 404,
    },
  });
}

const filesOf = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());

it("the served document is valid for openapi-spec-validator", async () => {
  expect(await runPython(["-m", "openapi_spec_validator", document])).toMatchObject({ code: 0 });
});

it("openapi-python-client makes under 120 files, without warnings, and they work", async () => {
  const folder = join(work, "python", "countersign_client");
  const options = ["--path", document, "--output-path", folder, "--meta", "none"];
  const { text, code } = await runPython(["-m", "openapi_python_client", "generate", ...options]);
  expect(code, text).toBe(0);
  expect(text).not.toMatch(/warning|error|skip/i);
  expect(filesOf(folder).filter(({ name }) => name.endsWith(".py")).length).toBeLessThan(120);
  await expectStory((env) =>
    runPython([join(programs, "use_client.py")], { ...env, PYTHONPATH: join(work, "python") }),
  );
});

// The first is about OpenAPI 3.1 as such; the second about every answer that is no JSON, here the events.
const OF_THE_GENERATOR = [/OpenAPI 3\.1 support is still in beta/, /No application\/json content media type found/];
/** Enumerations of requests: the gateway refuses other values. */
const CLOSED = /\b(?:Algorithm|LoginMethod)\b/;

/** Generates a client by openapi-generator and checks its models; returns its folder. */
async function generated(generator: string, extension: string, options: string): Promise<string> {
  const { text, code, folder } = await generate(generator, options);
  expect(code, text).toBe(0);
  const complaints = text.split("\n").filter((line) => /\b(WARN|ERROR)\b|Illegal|Exception/.test(line));
  expect(complaints.filter((line) => !OF_THE_GENERATOR.some((known) => known.test(line)))).toEqual([]);

  const files = new Map(filesOf(folder).map(({ name, parentPath }) => [name, join(parentPath, name)]));
  expect([...files.keys()]).toEqual(expect.arrayContaining(schemaNames.map((name) => `${name}.${extension}`)));
  // Names such as InlineObject are of schemas that have none of their own.
  const unnamed = /inline|_?(?:200|4\d\d)_?response|(?:OneOf|AnyOf|AllOf)/i;
  expect([...files.keys()].filter((name) => unnamed.test(name))).toEqual([]);
  for (const name of answerNames) {
    const model = readFileSync(files.get(`${name}.${extension}`)!, "utf8").replaceAll(/\/\*[\s\S]*?\*\//g, "");
    expect(model.replaceAll("enum CodingKeys", ""), `${name} has a closed enumeration`).not.toMatch(/\benum\b/);
    expect(model, `${name} has a closed enumeration`).not.toMatch(CLOSED);
  }
  return folder;
}

describe("openapi-generator's client, without warnings about the document and open for values of later versions", () => {
  it("Swift 6", async () => {
    const folder = await generated("swift6", "swift", "useJsonEncodable=true");
    const model = (name: string) => readFileSync(join(folder, `Sources/OpenAPIClient/Models/${name}.swift`), "utf8");
    expect(model("Problem")).toContain("public var error: String");
    expect(model("TwoFactorAuth")).toContain("public var status: String");
    expect(model("LoginMethod")).toMatch(/public enum LoginMethod: String, Sendable, .*\{/);
    expect(model("Account")).toContain("public struct Account: Sendable, Codable");
    expect(model("Account")).toContain("public var createdAt: Date");
    expect(model("ChallengeRequest")).toContain("case typePasskeyOwnerChallengeRequest(PasskeyOwnerChallengeRequest)");
  });

  it("TypeScript, which works", async () => {
    const source = await generated("typescript-fetch", "ts", "supportsES6=true,importFileExtension=.js");
    writeFileSync(join(source, "package.json"), '{"type":"module"}');
    cpSync(join(programs, "use-client.ts"), join(source, "use-client.ts"));
    symlinkSync(join(root, "node_modules"), join(source, "node_modules"));
    const strict = ["--module", "nodenext", "--target", "es2023", "--strict", "--skipLibCheck", "--types", "node"];
    const places = ["--typeRoots", join(root, "node_modules/@types"), "--outDir", join(source, "dist")];
    const compiler = join(root, "node_modules/.bin/tsc");
    const compiled = await run(compiler, [...strict, ...places, join(source, "use-client.ts")]);
    expect(compiled).toEqual({ text: "", code: 0 });
    await expectStory((env) => run(process.execPath, [join(source, "dist/use-client.js")], env));
  });

  it("Kotlin, which works", async () => {
    const options = "serializationLibrary=gson,generateOneOfAnyOfWrappers=true,packageName=countersign.client";
    const source = await generated("kotlin", "kt", options);
    const project = join(work, "kotlin-project");
    cpSync(join(programs, "kotlin"), project, { recursive: true });
    const places = [`-Dclient.source=${source}`, `-Dclient.build=${join(work, "kotlin-build")}`];
    const args = ["-q", "-B", "-f", join(project, "pom.xml"), "-Dkotlin.compiler.daemon=false", ...places];
    const mvn = (goal: string, env = {}) => run("mvn", [...args, goal], { ...env, MAVEN_OPTS: JVM.join(" ") });
    const { text, code } = await mvn("compile");
    expect(code, text).toBe(0);
    await expectStory((env) => mvn("exec:java", env));
  }, 600_000);
});
