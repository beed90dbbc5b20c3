import { generateKeyPairSync } from "node:crypto";
import { loadOrCreateKey } from "@countersign/client";
import { verifySignature } from "@countersign/keys/node";
import { simulatedHardware } from "@countersign/testing";
import { describe, expect, it, vi } from "vitest";
import { HardwareKeyError, hardwareKeyStore } from "./hardware-key-store.ts";

const message = new Uint8Array(300).map((_, index) => index);

describe("a key in secure hardware", () => {
  it("is created once, found again, and signs raw r||s over the message's bytes", async () => {
    const module = simulatedHardware();
    const created = vi.spyOn(module, "createKeys");
    const signed = vi.spyOn(module, "signWithOptions");
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
    // P-256, and never over a key that is there.
    expect(created.mock.calls).toEqual([["countersign.device", "ec256", undefined, true, true]]);
    const options = { keyAlias: "countersign.device", inputEncoding: "base64", promptTitle: "Sign" };
    expect(signed.mock.calls[0]).toMatchObject([options]);
  });

  it("is never overwritten", async () => {
    const module = simulatedHardware();
    const store = hardwareKeyStore({ module });
    const made = await Promise.all([store.create(), store.create()]);
    expect(made[0].publicKey).toBe(made[1].publicKey);
    expect((await store.create()).publicKey).toBe(made[0].publicKey);
    expect((await module.getAllKeys()).keys).toHaveLength(1);
    await store.remove();
    expect(await store.load()).toBeUndefined();
  });

  it("is one key for all stores of an alias, also where two of them create it at once", async () => {
    const module = simulatedHardware();
    const made = await Promise.all([hardwareKeyStore({ module }).create(), hardwareKeyStore({ module }).create()]);
    expect(made[0].publicKey).toBe(made[1].publicKey);
  });

  it("is not the key of a longer alias, as of another person's e-mail address", async () => {
    const module = simulatedHardware();
    await hardwareKeyStore({ module, keyAlias: "mary.ann@example.com" }).create();
    const own = hardwareKeyStore({ module, keyAlias: "ann@example.com" });
    expect(await own.load()).toBeUndefined();
    const key = await own.create();
    expect(verifySignature(key, message, await key.sign(message))).toBe(true);
  });

  it("says where it is, and passes the platform's attestation on", async () => {
    const hardware = await hardwareKeyStore({
      module: simulatedHardware(),
      attest: async (alias, challenge) => ({ alias, challenge: [...challenge] }),
    }).create();
    expect(await hardware.security()).toBe("hardware");
    expect(await hardware.attestation(Uint8Array.of(7))).toEqual({ alias: "countersign.device", challenge: [7] });
    const software = await hardwareKeyStore({ module: simulatedHardware({ isHardware: false }) }).create();
    expect([await software.security(), await software.attestation(message)]).toEqual(["software", undefined]);
    const { getKeyAttributes: _, ...silent } = simulatedHardware();
    expect(await (await hardwareKeyStore({ module: silent }).create()).security()).toBe("unknown");
  });

  it("is refused where it is of another curve, and its refusals are errors with the phone's code", async () => {
    const pair = generateKeyPairSync("ec", { namedCurve: "secp256k1" });
    const publicKey = pair.publicKey.export({ format: "der", type: "spki" }).toString("base64");
    const otherCurve = { ...simulatedHardware(), createKeys: async () => ({ publicKey }) };
    await expect(hardwareKeyStore({ module: otherCurve }).create()).rejects.toThrow(HardwareKeyError);
    for (const [code, isCancelled] of [
      ["USER_CANCEL", true],
      ["USER_CANCELED", true],
      ["BIOMETRIC_LOCKOUT", false],
    ] as const) {
      const key = await hardwareKeyStore({ module: simulatedHardware({ refusal: () => code }) }).create();
      await expect(key.sign(message)).rejects.toMatchObject({ name: "HardwareKeyError", code, isCancelled });
    }
  });
});
