import { generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { publicKeyOf, verifySignature } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import type { KeyHolder } from "./key-holder.ts";
import { createKeystoreVault } from "./keystore-vault.ts";
import { createRoutedVault } from "./routed-vault.ts";
import { signBytes } from "./testing/fake-key-services.ts";

const chainName = "flow-mainnet";
const key = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
const otherKey = generateKeyPairSync("ec", { namedCurve: "prime256v1" });

describe("keys in several vaults", () => {
  const scalar = () => [{ version: 1, scalar: `00${randomBytes(31).toString("hex")}` }];
  const keystore = createKeystoreVault({
    rootSecret: "00".repeat(32),
    audit: scalar(),
    chains: { [chainName]: { creator: scalar(), paymaster: scalar() } },
  });
  const memory = (pair: { publicKey: KeyObject; privateKey: KeyObject }): KeyHolder => ({
    publicKey: async () => publicKeyOf(pair.publicKey),
    signDigest: async (_, bytes) => signBytes(pair.privateKey, bytes, "compact"),
    close: () => undefined,
  });

  it("each version signs where it stands; the newest is the default", async () => {
    const holder = memory(key);
    const vault = await createRoutedVault(keystore, [{ role: "paymaster", chainName, version: 2, holder, id: "x" }]);
    expect(vault.versions("paymaster", chainName)).toEqual([1, 2]);
    expect(vault.versions("creator", chainName)).toEqual([1]);
    const message = Buffer.from("a message");
    for (const version of [1, 2]) {
      const reference = { role: "paymaster", chainName, version } as const;
      const publicKey = await vault.publicKey(reference);
      expect(verifySignature(publicKey, message, await vault.sign(reference, message), "sha3-256")).toBe(true);
    }
    expect(vault.version({ role: "paymaster", chainName })).toBe(2);
    expect(await vault.publicKey({ role: "paymaster", chainName })).toEqual(publicKeyOf(key.publicKey));
    expect(await vault.publicKey({ role: "creator", chainName })).toEqual(
      await keystore.publicKey({ role: "creator", chainName }),
    );
  });

  it("a vault that signs with another key than it shows stops the start", async () => {
    const holder = { ...memory(key), publicKey: async () => publicKeyOf(otherKey.publicKey) };
    const opened = createRoutedVault(keystore, [{ role: "audit", version: 2, holder, id: "x" }]);
    await expect(opened).rejects.toThrow("another key than it shows");
  });

  it("one key for two roles stops the start", async () => {
    const holder = memory(key);
    const both = [
      { role: "audit", version: 2, holder, id: "x" },
      { role: "creator", chainName, version: 2, holder, id: "x" },
    ] as const;
    await expect(createRoutedVault(keystore, both)).rejects.toThrow("names one key twice");
  });
});
