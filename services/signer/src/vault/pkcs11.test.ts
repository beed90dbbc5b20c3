import { execFileSync } from "node:child_process";
import { generateKeyPairSync, hash, randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { publicKeyOf, verifySignature } from "@countersign/keys/node";
import { findSoftHsm } from "@countersign/local-stack/test-programs.ts";
import koffi from "koffi";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KeyHolder } from "./key-holder.ts";
import { createKeystoreVault } from "./keystore-vault.ts";
import { openPkcs11 } from "./pkcs11.ts";
import { createRoutedVault } from "./routed-vault.ts";

const module = findSoftHsm();
const directory = mkdtempSync(join(tmpdir(), "countersign-softhsm-"));
const pin = randomBytes(8).toString("hex");
const tokenLabel = "countersign";
const keys = {
  paymaster: generateKeyPairSync("ec", { namedCurve: "prime256v1" }),
  creator: generateKeyPairSync("ec", { namedCurve: "prime256v1" }),
  secp: generateKeyPairSync("ec", { namedCurve: "secp384r1" }),
};

/** Ends all sessions with all tokens, and the login with them. */
function endSessions(path: string): void {
  const library = koffi.load(path);
  const [slots, count] = [Buffer.alloc(8 * 8), Buffer.alloc(8)];
  count.writeBigUInt64LE(8n);
  library.func("ulong C_GetSlotList(uchar present, void *slots, void *count)")(1, slots, count);
  for (let i = 0; i < Number(count.readBigUInt64LE()); i++)
    library.func("ulong C_CloseAllSessions(ulong slot)")(slots.readBigUInt64LE(8 * i));
}

// `npm test` installs SoftHSM where it may; in CI it must be there.
describe.skipIf(module === undefined)("a token behind PKCS #11", () => {
  let holder: KeyHolder;
  beforeAll(async () => {
    mkdirSync(join(directory, "tokens"));
    const configuration = join(directory, "softhsm2.conf");
    writeFileSync(configuration, `directories.tokendir = ${join(directory, "tokens")}\nobjectstore.backend = file\n`);
    process.env.SOFTHSM2_CONF = configuration;
    const util = (...args: string[]) => execFileSync("softhsm2-util", [...args, "--pin", pin], { stdio: "pipe" });
    util("--init-token", "--free", "--label", tokenLabel, "--so-pin", pin);
    Object.entries(keys).forEach(([label, { privateKey }], i) => {
      const file = join(directory, `${label}.pem`);
      writeFileSync(file, privateKey.export({ type: "pkcs8", format: "pem" }));
      util("--import", file, "--token", tokenLabel, "--label", label, "--id", `0${i + 1}`);
    });
    holder = await openPkcs11({ module: module!, tokenLabel, pin });
  });
  afterAll(() => {
    holder?.close();
    rmSync(directory, { recursive: true, force: true });
  });

  it("shows the public keys and signs any digest of 32 bytes, many at once", async () => {
    for (const label of ["paymaster", "creator"] as const) {
      const publicKey = await holder.publicKey(label);
      expect(publicKey).toEqual(publicKeyOf(keys[label].publicKey));
      const messages = Array.from({ length: 20 }, () => randomBytes(100));
      const signatures = await Promise.all(
        messages.map((message) => holder.signDigest(label, hash("sha3-256", message, "buffer"))),
      );
      messages.forEach((message, i) => {
        expect(verifySignature(publicKey, message, signatures[i]!, "sha3-256")).toBe(true);
      });
    }
  });

  it("serves as the place of a chain's key", async () => {
    const keystore = createKeystoreVault({ rootSecret: "00".repeat(32), chains: {} });
    const chainName = "flow-mainnet";
    const vault = await createRoutedVault(keystore, [
      { role: "paymaster", chainName, version: 1, holder, id: "paymaster" },
    ]);
    const message = Buffer.from("a message");
    const signature = await vault.sign({ role: "paymaster", chainName, version: 1 }, message);
    expect(verifySignature(publicKeyOf(keys.paymaster.publicKey), message, signature, "sha3-256")).toBe(true);
  });

  it("signs again after the device was restarted, which ends all sessions", async () => {
    const message = randomBytes(100);
    const sign = () => holder.signDigest("creator", hash("sha3-256", message, "buffer"));
    await sign();
    endSessions(module!);
    // The requests that find the session ended fail; the next one opens another.
    await expect(sign()).rejects.toMatchObject({ reason: "Unavailable" });
    expect(verifySignature(publicKeyOf(keys.creator.publicKey), message, await sign(), "sha3-256")).toBe(true);
  });

  it("says what is missing, and never the PIN", async () => {
    await expect(holder.publicKey("nobody")).rejects.toThrow("0 such keys");
    await expect(holder.signDigest("nobody", randomBytes(32))).rejects.toThrow("0 such keys");
    await expect(holder.publicKey("secp")).rejects.toThrow("P-256");
    await expect(openPkcs11({ module: module!, tokenLabel: "other", pin })).rejects.toThrow("no token");
    const wrong = openPkcs11({ module: module!, tokenLabel, pin: "wrong-pin" });
    // A process that is logged in already is not asked again.
    await wrong.then(
      (opened) => opened.close(),
      ({ message }: Error) => expect(message).not.toContain("wrong-pin"),
    );
    await expect(openPkcs11({ module: "/nowhere.so", tokenLabel, pin })).rejects.toThrow();
  });
});
