import { cpSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { expect, it } from "vitest";
import { chainName, logIn, newEmail, newPhone, stack } from "../support/person.ts";
import { document, generate, run, runPython, work } from "./tools.ts";

const folder = join(root, "tests/api/clients");

/** Returns environment variables for a sign-up: a login, and the key that it is bound to. */
async function newPerson() {
  const { token } = await logIn(newEmail());
  const { publicKey } = newPhone().deviceKey;
  return { GATEWAY: stack.gateway, LOGIN_TOKEN: token, PUBLIC_KEY: publicKey, CHAIN_NAME: chainName };
}

/** Each program signs up, reads the account, lists the devices, asks for a challenge and gets an error. */
function expectStory({ text, code }: { text: string; code: number }, publicKey: string): void {
  expect(code, text).toBe(0);
  const story = JSON.parse(/^.*?(\{.*\})$/m.exec(text)?.[1] ?? "null");
  expect(story, text).toEqual({
    sameAccount: true,
    addresses: 2,
    devices: [publicKey],
    challengeDigits: 32,
    error: "TwoFactorAuthNotFound",
    status: 404,
  });
}

it("the Python client works", async () => {
  const package_ = join(work, "python", "countersign_client");
  const options = ["--path", document, "--output-path", package_, "--meta", "none", "--overwrite"];
  await runPython(["-m", "openapi_python_client", "generate", ...options]);
  const env = await newPerson();
  const done = await runPython([join(folder, "use_client.py")], { ...env, PYTHONPATH: join(work, "python") });
  expectStory(done, env.PUBLIC_KEY);
});

it("the TypeScript client works", async () => {
  const { folder: source } = await generate("typescript-fetch", "supportsES6=true,importFileExtension=.js");
  writeFileSync(join(source, "package.json"), '{"type":"module"}');
  cpSync(join(folder, "use-client.ts"), join(source, "use-client.ts"));
  symlinkSync(join(root, "node_modules"), join(source, "node_modules"));
  const compiler = ["--module", "nodenext", "--target", "es2023", "--strict", "--skipLibCheck", "--types", "node"];
  const compiled = await run(join(root, "node_modules/.bin/tsc"), [
    ...compiler,
    "--typeRoots",
    join(root, "node_modules/@types"),
    "--outDir",
    join(source, "dist"),
    join(source, "use-client.ts"),
  ]);
  expect(compiled).toEqual({ text: "", code: 0 });
  const env = await newPerson();
  expectStory(await run(process.execPath, [join(source, "dist/use-client.js")], env), env.PUBLIC_KEY);
});

it("the Kotlin client works", async () => {
  const options = "serializationLibrary=gson,generateOneOfAnyOfWrappers=true,packageName=countersign.client";
  const { folder: source } = await generate("kotlin", options);
  const project = join(work, "kotlin-project");
  cpSync(join(folder, "kotlin"), project, { recursive: true });
  const properties = [`-Dclient.source=${source}`, `-Dclient.build=${join(work, "kotlin-build")}`];
  const env = await newPerson();
  const args = [
    "-q",
    "-B",
    "-f",
    join(project, "pom.xml"),
    "-Dkotlin.compiler.daemon=false",
    "compile",
    "exec:java",
    ...properties,
  ];
  expectStory(await run("mvn", args, env), env.PUBLIC_KEY);
}, 900_000);
