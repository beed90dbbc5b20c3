import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { publicKeyOf } from "@countersign/keys/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createKeystoreVault } from "./keystore-vault.ts";
import { openVaults } from "./open-vaults.ts";
import { type FakeKeyServices, startFakeKeyServices } from "./testing/fake-key-services.ts";

const chainName = "flow-mainnet";
let fake: FakeKeyServices;
beforeAll(async () => {
  fake = await startFakeKeyServices();
});
afterAll(() => fake.close());

describe("the vaults file", () => {
  const directory = mkdtempSync(join(tmpdir(), "countersign-vaults-"));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  const keystore = createKeystoreVault({ rootSecret: "00".repeat(32), chains: {} });
  const opened = (content: object) => {
    const file = join(directory, "vaults.json");
    writeFileSync(file, JSON.stringify(content));
    return openVaults(keystore, file);
  };
  const place = { role: "paymaster", chainName, version: 2, vault: "aws", id: "alias/paymaster" };

  it("places a version in a vault", async () => {
    const aws = { kind: "aws-kms", region: "eu-central-1", endpoint: fake.endpoint };
    const { vault, close } = await opened({ vaults: { aws }, keys: [place] });
    expect(await vault.publicKey({ role: "paymaster", chainName, version: 2 })).toEqual(
      publicKeyOf(fake.key.publicKey),
    );
    close();
    expect((await openVaults(keystore, undefined)).vault).toBe(keystore);
  });

  it.each<[string, Record<string, unknown>]>([
    ["an unknown kind", { vaults: { aws: { kind: "paper" } }, keys: [] }],
    ["a vault that is not there", { vaults: {}, keys: [place] }],
    ["two places for one version", { vaults: { aws: { kind: "aws-kms", region: "x" } }, keys: [place, place] }],
    ["a server key", { vaults: { aws: { kind: "aws-kms", region: "x" } }, keys: [{ ...place, role: "server" }] }],
    ["an unknown member", { vaults: {}, keys: [], key: [] }],
  ])("with %s stops the start", async (_, content) => {
    await expect(opened(content)).rejects.toThrow("vaults.json");
  });
});
