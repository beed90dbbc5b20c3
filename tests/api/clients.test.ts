import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { expect, it } from "vitest";
import { chainName, logIn, newEmail, newPhone, stack } from "../support/person.ts";
import { document, runPython, work } from "./tools.ts";

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
  const lines = text.split("\n");
  const [story] = lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
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
