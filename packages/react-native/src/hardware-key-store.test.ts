import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { loadOrCreateKey } from "@countersign/client";
import { verifySignature } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import { HardwareKeyError, type HardwareKeyModule, hardwareKeyStore } from "./hardware-key-store.ts";

const message = new Uint8Array(300).map((_, index) => index);

/** A phone's secure hardware, as the module shows it: SPKI and DER in base64. */
function fakeModule({ isHardware = true, refuses = "", curve = "prime256v1" } = {}) {
  const keys = new Map<string, { privateKey: KeyObject; publicKey: string }>();
  const signed: unknown[] = [];
  const module: HardwareKeyModule = {
    async createKeys(alias, keyType, _strength, _allow, failIfExists) {
      expect([keyType, failIfExists]).toEqual(["ec256", true]);
      if (keys.has(alias)) throw new Error("KEY_ALREADY_EXISTS");
      const pair = generateKeyPairSync("ec", { namedCurve: curve });
      const publicKey = pair.publicKey.export({ format: "der", type: "spki" }).toString("base64");
      keys.set(alias, { privateKey: pair.privateKey, publicKey });
      return { publicKey };
    },
    async signWithOptions({ keyAlias, data, inputEncoding, promptTitle }) {
      signed.push({ keyAlias, inputEncoding, promptTitle });
      if (refuses !== "") return { success: false, error: refuses };
      const signature = sign("sha256", Buffer.from(data, "base64"), keys.get(keyAlias)!.privateKey);
      return { success: true, signature: signature.toString("base64") };
    },
    getAllKeys: async () => ({ keys: [...keys].map(([alias, { publicKey }]) => ({ alias, publicKey })) }),
    deleteKeys: async (alias) => keys.delete(alias),
    getKeyAttributes: async (alias) => ({
      exists: keys.has(alias),
      attributes: { securityLevel: "", hardwareBacked: isHardware },
    }),
  };
  return { module, signed, keys };
}

describe("a key in secure hardware", () => {
  it("is created once, found again, and signs raw r||s over the message's bytes", async () => {
    const { module, signed } = fakeModule();
    const store = hardwareKeyStore({ module, promptTitle: "Sign" });
    expect(await store.load()).toBeUndefined();
    const key = await loadOrCreateKey(store);
    const found = await loadOrCreateKey(hardwareKeyStore({ module, promptTitle: "Sign" }));
    expect(found.publicKey).toBe(key.publicKey);
    for (let count = 0; count < 20; count++) {
      const signature = await found.sign(message);
      expect(signature).toHaveLength(64);
      expect(verifySignature(key, message, signature)).toBe(true);
    }
    expect(signed[0]).toEqual({ keyAlias: "countersign.device", inputEncoding: "base64", promptTitle: "Sign" });
  });

  it("is never overwritten", async () => {
    const { module, keys } = fakeModule();
    const store = hardwareKeyStore({ module });
    const made = await Promise.all([store.create(), store.create()]);
    expect(made[0].publicKey).toBe(made[1].publicKey);
    expect((await store.create()).publicKey).toBe(made[0].publicKey);
    expect(keys.size).toBe(1);
    await store.remove();
    expect(await store.load()).toBeUndefined();
  });

  it("says where it is, and passes the platform's attestation on", async () => {
    const hardware = await hardwareKeyStore({
      module: fakeModule().module,
      attest: async (alias, challenge) => ({ alias, challenge: [...challenge] }),
    }).create();
    expect(await hardware.security()).toBe("hardware");
    expect(await hardware.attestation(Uint8Array.of(7))).toEqual({ alias: "countersign.device", challenge: [7] });
    const software = await hardwareKeyStore({ module: fakeModule({ isHardware: false }).module }).create();
    expect([await software.security(), await software.attestation(message)]).toEqual(["software", undefined]);
    const { getKeyAttributes: _, ...silent } = fakeModule().module;
    expect(await (await hardwareKeyStore({ module: silent }).create()).security()).toBe("unknown");
  });

  it("is refused where it is of another curve, and its refusals are errors", async () => {
    await expect(hardwareKeyStore({ module: fakeModule({ curve: "secp256k1" }).module }).create()).rejects.toThrow(
      HardwareKeyError,
    );
    const key = await hardwareKeyStore({ module: fakeModule({ refuses: "USER_CANCELED" }).module }).create();
    await expect(key.sign(message)).rejects.toThrow("USER_CANCELED");
  });
});
