import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "@countersign/runtime";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { keyVersions, readKeystore } from "../vault/index.ts";
import { keysCreate } from "./keys-create.ts";
import { keysExportPublic } from "./keys-export-public.ts";
import { keysList } from "./keys-list.ts";
import { keysReEncrypt } from "./keys-re-encrypt.ts";
import { keysRotate } from "./keys-rotate.ts";

vi.mock(import("node:crypto"), async (original) => {
  const { rememberedScrypt } = await import("../testing/remembered-scrypt.ts");
  return rememberedScrypt(await original()) as object;
});

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "countersign-keys-"));
  for (const name of ["one", "two"]) writeFileSync(place(name), `a passphrase with name ${name}\n`);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const place = (name: string) => join(directory, name);

async function run({ run: work }: Command, args: string[] = [], passphrase = "one") {
  const lines: string[] = [];
  const env = {
    SIGNER_KEYSTORE_FILE: place("keystore.json"),
    SIGNER_KEYSTORE_PASSPHRASE_FILE: place(passphrase),
  };
  expect(await work({ args, env, print: (line) => lines.push(line) })).toBe(0);
  return lines;
}
const json = async (command: Command, args?: string[], passphrase?: string) =>
  JSON.parse((await run(command, args, passphrase)).join(""));
const content = (passphrase = "one") => readKeystore(place("keystore.json"), `a passphrase with name ${passphrase}`);

// The passphrase is made slow to try on purpose. One after the other: each goes on where the one before
// ended.
describe("the signer's key commands", { timeout: 60_000 }, () => {
  const key = expect.stringMatching(/^[0-9a-f]{128}$/);

  it("create a keystore, once; and a further chain's keys", async () => {
    const made = await json(keysCreate, ["--chain", "flow-testnet"]);
    expect(made).toEqual({
      chainName: "flow-testnet",
      creator: { publicKey: key, hashAlgorithm: "SHA3_256" },
      paymaster: { publicKey: key, hashAlgorithm: "SHA3_256" },
    });
    const file = readFileSync(place("keystore.json"), "utf8");
    expect(await json(keysCreate, ["--chain", "flow-testnet"])).toEqual(made);
    expect(readFileSync(place("keystore.json"), "utf8")).toBe(file);
    const { rootSecret } = content();
    const further = await json(keysCreate, ["--chain", "flow-mainnet"]);
    expect(further.creator.publicKey).not.toBe(made.creator.publicKey);
    expect(content().rootSecret).toBe(rootSecret);
  });

  it("rotate: the version before stays", async () => {
    const before = await json(keysExportPublic);
    for (const role of ["creator", "paymaster"]) {
      const { version, publicKey } = await json(keysRotate, ["--role", role, "--chain", "flow-mainnet"]);
      expect(version).toBe(2);
      const { chains } = await json(keysExportPublic);
      expect(chains["flow-mainnet"][role]).toEqual([before.chains["flow-mainnet"][role][0], { version, publicKey }]);
      expect(chains["flow-testnet"]).toEqual(before.chains["flow-testnet"]);
    }
    const { version, publicKey } = await json(keysRotate, ["--role", "audit"]);
    expect((await json(keysExportPublic)).audit).toEqual([...before.audit, { version, publicKey }]);
  });

  it("list what there is, and no key", async () => {
    const lines = await run(keysList);
    expect(lines.map((line) => line.trim().split(/\s+/).slice(0, 4).join(" "))).toEqual([
      "role chain versions",
      "audit - 1, 2",
      "creator flow-testnet 1",
      "paymaster flow-testnet 1",
      "creator flow-mainnet 1, 2",
      "paymaster flow-mainnet 1, 2",
      "server every chain 1",
      "server keys are derived",
    ]);
  });

  it("re-encrypt: the same keys under another passphrase, and not under the old one", async () => {
    const before = content();
    await run(keysReEncrypt, ["--new-passphrase-file", place("two")]);
    expect(content("two")).toEqual(before);
    await expect(run(keysList)).rejects.toThrow("cannot be opened");
    await run(keysList, [], "two");
    expect(keyVersions(content("two"))).toEqual(keyVersions(before));
  });

  it.each<[string, Command, string[]]>([
    ["create without a chain", keysCreate, []],
    ["rotate without a role", keysRotate, ["--chain", "flow-mainnet"]],
    ["rotate another role", keysRotate, ["--role", "server", "--chain", "flow-mainnet"]],
    ["rotate without a chain", keysRotate, ["--role", "creator"]],
    ["rotate the audit key of a chain", keysRotate, ["--role", "audit", "--chain", "flow-mainnet"]],
    ["re-encrypt without a passphrase", keysReEncrypt, []],
  ])("do not %s", async (_, command, args) => {
    const before = readFileSync(place("keystore.json"), "utf8");
    await expect(run(command, args, "two")).rejects.toThrow(command.usage);
    expect(readFileSync(place("keystore.json"), "utf8")).toBe(before);
  });
});
