import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { verifySignature } from "@countersign/keys/node";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import {
  addKeyVersion,
  addServerRoot,
  createKeystoreVault,
  ensureKeystore,
  KeystoreError,
  readKeystore,
  reEncryptKeystore,
} from "./index.ts";
import { openKeystore } from "./keystore-file.ts";
import { deriveServerScalar } from "./private-keys.ts";
import { warnOfCoreDumps } from "./start-vault.ts";

vi.mock(import("node:crypto"), async (original) => {
  const { rememberedScrypt } = await import("../testing/remembered-scrypt.ts");
  return rememberedScrypt(await original()) as object;
});

const accountId = "01900000-0000-7000-8000-000000000001";

describe("server keys", () => {
  const root = Buffer.from("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", "hex");

  // Changing the derivation would lose every account: these values must never change.
  it("are derived as they always were", () => {
    expect(deriveServerScalar(root, "flow-mainnet", accountId, 1).toString("hex")).toBe(
      "1ee2b5f78597c37b291bdcb95e0dca073d7e6e4dc993f79ff4711eda1b65b28a",
    );
  });

  it("differ by chain, account, version and root secret", () => {
    const scalars = [
      deriveServerScalar(root, "flow-mainnet", accountId, 1),
      deriveServerScalar(root, "flow-testnet", accountId, 1),
      deriveServerScalar(root, "flow-mainnet", accountId.replace(/1$/, "2"), 1),
      deriveServerScalar(root, "flow-mainnet", accountId, 2),
      deriveServerScalar(Buffer.alloc(32, 1), "flow-mainnet", accountId, 1),
    ];
    expect(new Set(scalars.map((scalar) => scalar.toString("hex"))).size).toBe(scalars.length);
  });
});

const RIGHT = "the right passphrase of the tests";
const OTHER = "another passphrase of the tests";

// The passphrase is made slow to try on purpose.
describe("the keystore file", { timeout: 60_000 }, () => {
  let directory: string;
  let file: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), "countersign-vault-"));
    file = join(directory, "keystore.json");
    ensureKeystore(file, RIGHT, "flow-emulator");
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it("keeps its keys, is readable by its owner only, and shows none of them", () => {
    const content = ensureKeystore(file, RIGHT, "flow-emulator");
    expect(readKeystore(file, RIGHT)).toEqual(content);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const text = readFileSync(file, "utf8");
    expect(text).not.toContain(content.rootSecret);
    expect(text).not.toContain(content.chains["flow-emulator"]!.creator[0]!.scalar);
  });

  it("takes a further chain and keeps the others", () => {
    const before = readKeystore(file, RIGHT);
    const after = ensureKeystore(file, RIGHT, "flow-other");
    expect(after.rootSecret).toBe(before.rootSecret);
    expect(after.chains["flow-emulator"]).toEqual(before.chains["flow-emulator"]);
  });

  it("opens with its passphrase only", () => {
    expect(() => readKeystore(file, "wrong")).toThrow(KeystoreError);
    expect(() => ensureKeystore(file, "wrong", "flow-third")).toThrow(KeystoreError);
  });

  it("says that a file is not there, and not that it is damaged", async () => {
    const missing = join(directory, "none.json");
    const error = new KeystoreError(`the keystore ${missing} cannot be opened: ENOENT`);
    expect(() => readKeystore(missing, RIGHT)).toThrow(error);
    await expect(openKeystore(missing, RIGHT, readFileSync)).rejects.toThrow(error);
    expect(() => readKeystore(file, "wrong")).toThrow("it is damaged, or the passphrase is wrong");
  });

  it("notices a change of any part", () => {
    const stored = JSON.parse(readFileSync(file, "utf8"));
    const flip = (text: string) => (text.startsWith("A") ? "B" : "A") + text.slice(1);
    const changed = join(directory, "changed.json");
    const variants = [
      { ...stored, iv: flip(stored.iv) },
      { ...stored, tag: flip(stored.tag) },
      { ...stored, tag: stored.tag.slice(0, 8) },
      { ...stored, ciphertext: flip(stored.ciphertext) },
      { ...stored, scrypt: { ...stored.scrypt, salt: flip(stored.scrypt.salt) } },
      { ...stored, scrypt: { ...stored.scrypt, N: 2 } },
      { ...stored, format: "countersign-keystore-0" },
    ];
    for (const variant of variants) {
      writeFileSync(changed, JSON.stringify(variant));
      expect(() => readKeystore(changed, RIGHT)).toThrow(KeystoreError);
    }
  });

  it("takes a further version of a key; those before go on signing, the newest is the default", async () => {
    const before = readKeystore(file, RIGHT);
    const chainName = "flow-emulator";
    const content = addKeyVersion(file, RIGHT, { role: "paymaster", chainName });
    expect(content.chains[chainName]!.paymaster.map(({ version }) => version)).toEqual([1, 2]);
    expect(content.chains[chainName]!.paymaster[0]).toEqual(before.chains[chainName]!.paymaster[0]);
    expect(addKeyVersion(file, RIGHT, { role: "audit" }).audit).toHaveLength(2);
    const vault = createKeystoreVault(readKeystore(file, RIGHT));
    const message = Buffer.from("a message");
    const valid = async (signed: number, shown: number) => {
      const reference = (version: number) => ({ role: "paymaster", chainName, version }) as const;
      const signature = await vault.sign(reference(signed), message);
      return verifySignature(await vault.publicKey(reference(shown)), message, signature, "sha3-256");
    };
    expect([await valid(1, 1), await valid(2, 2), await valid(1, 2)]).toEqual([true, true, false]);
    expect(vault.version({ role: "paymaster", chainName })).toBe(2);
    expect(vault.versions("paymaster", chainName)).toEqual([1, 2]);
    await expect(vault.sign({ role: "paymaster", chainName, version: 3 }, message)).rejects.toThrow("no such");
    expect(() => addKeyVersion(file, RIGHT, { role: "creator", chainName: "nowhere" })).toThrow(KeystoreError);
  });

  it("takes a further root secret of server keys; those before stay, and a version without one signs nothing", async () => {
    const before = createKeystoreVault(readKeystore(file, RIGHT));
    expect(before.versions("server")).toEqual([1]);
    const content = addServerRoot(file, RIGHT);
    expect(addServerRoot(file, RIGHT).laterRoots!.map(({ version }) => version)).toEqual([2, 3]);
    expect(content.rootSecret).toBe(readKeystore(file, RIGHT).rootSecret);
    const after = createKeystoreVault(readKeystore(file, RIGHT));
    expect(after.versions("server")).toEqual([1, 2, 3]);
    const of = (version: number) => ({ role: "server", chainName: "flow-emulator", accountId, version }) as const;
    expect(await after.publicKey(of(1))).toEqual(await before.publicKey(of(1)));
    const secrets = [content.rootSecret, ...readKeystore(file, RIGHT).laterRoots!.map(({ secret }) => secret)];
    expect(new Set(secrets).size).toBe(3);
    const keys = await Promise.all([1, 2, 3].map(async (version) => (await after.publicKey(of(version))).publicKey));
    expect(new Set(keys).size).toBe(3);
    await expect(after.sign(of(4), Buffer.from("x"))).rejects.toThrow(KeystoreError);
    await expect(before.publicKey(of(2))).rejects.toThrow(KeystoreError);
  });

  it("is one command's at a time", () => {
    writeFileSync(`${file}.lock`, "");
    expect(() => addKeyVersion(file, RIGHT, { role: "audit" })).toThrow("another command");
    rmSync(`${file}.lock`);
  });

  it("opens with another passphrase after it was re-encrypted, and not with the old one", () => {
    const moved = join(directory, "moved.json");
    writeFileSync(moved, readFileSync(file));
    reEncryptKeystore(moved, RIGHT, OTHER);
    expect(readKeystore(moved, OTHER)).toEqual(readKeystore(file, RIGHT));
    expect(() => readKeystore(moved, RIGHT)).toThrow(KeystoreError);
    expect(() => reEncryptKeystore(moved, RIGHT, "a third passphrase of the tests")).toThrow(KeystoreError);
    expect(JSON.parse(readFileSync(moved, "utf8")).scrypt.salt).not.toBe(
      JSON.parse(readFileSync(file, "utf8")).scrypt.salt,
    );
  });

  it("is not made or re-encrypted with a passphrase of fewer than 20 characters", () => {
    const short = "19 of the digits: 1";
    expect(() => ensureKeystore(join(directory, "short.json"), short, "flow-emulator")).toThrow("at least 20");
    expect(existsSync(join(directory, "short.json"))).toBe(false);
    expect(() => reEncryptKeystore(file, RIGHT, short)).toThrow("at least 20");
    expect(readKeystore(file, RIGHT)).toBeDefined();
  });

  it("signs with the key whose public half it answers, and with no other", async () => {
    const vault = createKeystoreVault(readKeystore(file, RIGHT));
    const message = Buffer.from("a message");
    const references = [
      { role: "creator", chainName: "flow-emulator" },
      { role: "paymaster", chainName: "flow-emulator" },
      { role: "server", chainName: "flow-emulator", accountId, version: 1 },
    ] as const;
    for (const reference of references) {
      const signature = await vault.sign(reference, message);
      for (const other of references) {
        const valid = verifySignature(await vault.publicKey(other), message, signature, "sha3-256");
        expect(valid).toBe(other === reference);
      }
    }
    await expect(vault.sign({ role: "creator", chainName: "constructor" }, message)).rejects.toMatchObject({
      reason: "UnknownChain",
    });
  });
});

it("a core limit that is not 0 is warned of", () => {
  const directory = mkdtempSync(join(tmpdir(), "countersign-limits-"));
  const warnings = (soft: string) => {
    const file = join(directory, "limits");
    writeFileSync(file, `Limit  Soft Limit  Hard Limit  Units\nMax core file size  ${soft}  unlimited  bytes\n`);
    const lines: unknown[] = [];
    warnOfCoreDumps({ warn: (...line: unknown[]) => lines.push(line) }, file);
    return lines.length;
  };
  expect([warnings("0"), warnings("unlimited"), warnings("4096")]).toEqual([0, 1, 1]);
  rmSync(directory, { recursive: true });
});
