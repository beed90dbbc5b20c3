import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unchanging } from "@countersign/core";
import { createLogger, createMetrics, watchFiles } from "@countersign/runtime";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { addKeyVersion, addServerRoot, ensureKeystore, reEncryptKeystore } from "./keystore-file.ts";
import { startVault } from "./start-vault.ts";
import { type FakeKeyServices, startFakeKeyServices } from "./testing/fake-key-services.ts";

vi.mock(import("node:crypto"), async (original) => {
  const { rememberedScrypt } = await import("../testing/remembered-scrypt.ts");
  return rememberedScrypt(await original()) as object;
});

const chainName = "flow-mainnet";
const digest = randomBytes(32);
/** Opening a keystore takes a second on a busy machine. */
const LONG = { timeout: 40_000 };
let fake: FakeKeyServices;
beforeAll(async () => {
  fake = await startFakeKeyServices();
});
afterAll(() => fake.close());

const [ONE, TWO] = ["the first passphrase of the tests", "the second passphrase of the tests"];

describe("a running vault", { timeout: 90_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), "countersign-running-vault-"));
  const place = (name: string) => join(directory, name);
  const networks = {
    ...unchanging(new Map([[chainName, { chainName }]])),
    require: () => undefined,
  };
  const settings = {
    keystoreFile: place("keystore.json"),
    vaultsFile: place("vaults.json"),
    secrets: { keystorePassphraseFile: place("passphrase") },
    networks,
  };
  let close: (() => unknown)[];
  let refused: string[];
  beforeEach(() => {
    [close, refused] = [[], []];
    for (const name of readdirSync(directory)) rmSync(place(name));
    writeFileSync(place("passphrase"), ONE);
    ensureKeystore(settings.keystoreFile, ONE, chainName);
    const aws = {
      kind: "aws-kms",
      region: "eu-central-1",
      endpoint: fake.endpoint,
      credentialsFile: place("credentials"),
    };
    const key = { role: "paymaster", chainName, version: 2, vault: "aws", id: "alias/paymaster" };
    writeFileSync(place("vaults.json"), JSON.stringify({ vaults: { aws }, keys: [key] }));
    credentials("AKIAONE");
  });
  afterEach(async () => {
    for (const each of close.reverse()) await each();
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  const credentials = (id: string) =>
    writeFileSync(place("credentials"), `[default]\naws_access_key_id = ${id}\naws_secret_access_key = secret\n`);
  async function start() {
    const destination = { write: (line: string) => void (line.includes("file-refused") && refused.push(line)) };
    const logger = createLogger({ name: "test", level: "error", destination });
    const files = watchFiles({ logger, metrics: createMetrics("test", { defaults: false }), intervalMs: 20 });
    close.push(() => files.close());
    return startVault(settings, { logger, files, onClose: (_name, each) => close.push(each) });
  }
  const usedCredentials = () =>
    /Credential=(\w+)/.exec(
      fake.requests.findLast(({ headers }) => headers.authorization)!.headers.authorization!,
    )?.[1];

  it("signs with changed credentials of a key service, without a pause", async () => {
    const { vault } = await start();
    const paymaster = { role: "paymaster", chainName, version: 2 } as const;
    await vault.sign(paymaster, digest);
    expect(usedCredentials()).toBe("AKIAONE");
    credentials("AKIATWO");
    await expect
      .poll(async () => {
        await vault.sign(paymaster, digest);
        return usedCredentials();
      }, LONG)
      .toBe("AKIATWO");
  });

  it("has a key that was added, after the passphrase has changed as well", async () => {
    const { vault, auditKeys } = await start();
    const before = await vault.publicKey({ role: "server", chainName, accountId: "a", version: 1 });
    addServerRoot(settings.keystoreFile, ONE);
    addKeyVersion(settings.keystoreFile, ONE, { role: "audit" });
    await expect
      .poll(() => [vault.versions("server"), [...auditKeys().keys()]], LONG)
      .toEqual([
        [1, 2],
        [1, 2],
      ]);
    reEncryptKeystore(settings.keystoreFile, ONE, TWO);
    await expect.poll(() => refused.length, LONG).toBe(1);
    writeFileSync(place("passphrase"), TWO);
    addServerRoot(settings.keystoreFile, TWO);
    await expect.poll(() => vault.versions("server"), LONG).toEqual([1, 2, 3]);
    expect(await vault.publicKey({ role: "server", chainName, accountId: "a", version: 1 })).toEqual(before);
  });

  it.each<[string, () => void]>([
    [
      "another keystore with keys of the same names",
      () => {
        rmSync(settings.keystoreFile);
        ensureKeystore(settings.keystoreFile, ONE, chainName);
      },
    ],
    ["no place for a key in use", () => writeFileSync(place("vaults.json"), JSON.stringify({ vaults: {}, keys: [] }))],
  ])("refuses %s, and goes on with the old one", async (_, change) => {
    const { vault } = await start();
    const key = { role: "creator", chainName } as const;
    const before = await vault.publicKey(key);
    change();
    await expect.poll(() => refused.length, LONG).toBe(1);
    expect(refused[0]).toContain("the vaults");
    expect(await vault.publicKey(key)).toEqual(before);
    expect(vault.versions("paymaster", chainName)).toEqual([1, 2]);
  });
});
