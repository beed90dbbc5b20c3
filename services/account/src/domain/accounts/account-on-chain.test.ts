import { parsePublicKey } from "@countersign/keys";
import { describe, expect, it } from "vitest";
import { key, serverKeyAt } from "../../testing/chain-account.ts";
import { findServerKey, recoveryKeyOf, requireBelowKeyLimit, serverKeyOf, userKeyOf } from "./account-on-chain.ts";

const hex = (digit: string) => digit.repeat(128);
// A recovery key weighs as much as the server key: they differ only in their hash.
const recovery = (index: number, digits: string) => key(index, digits, { weight: 999 });

describe("the server key of an account", () => {
  it("is no recovery key, which weighs the same", () => {
    const keys = [recovery(0, hex("a")), key(1, hex("b")), serverKeyAt(2, hex("c"))];
    expect(findServerKey(keys)?.index).toBe(2);
    expect(() => serverKeyOf(keys.slice(0, 2))).toThrow("AccountNotReady");
  });

  it("is no light key with its hash, and no revoked one", () => {
    expect(findServerKey([key(0, hex("a"), { hashAlgorithm: "SHA3_256" })])).toBeUndefined();
    expect(findServerKey([{ ...serverKeyAt(0, hex("a")), revoked: true }])).toBeUndefined();
  });
});

// Bytes of valid keys are of no matter here: keys are compared as text.
const given = (publicKey: string) => ({ ...parsePublicKey(GENERATOR, "ES256"), publicKey });
const GENERATOR =
  "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296" +
  "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5";

describe("a key by its bytes", () => {
  const keys = [serverKeyAt(0, hex("a")), key(1, hex("b")), recovery(2, hex("c")), key(3, hex("d"), { revoked: true })];

  it("is a user key only with weight and hash of one, and unrevoked", () => {
    expect(userKeyOf(keys, given(hex("b")))?.index).toBe(1);
    for (const other of ["a", "c", "d"]) expect(userKeyOf(keys, given(hex(other)))).toBeUndefined();
    expect(userKeyOf([key(0, hex("b"), { hashAlgorithm: "SHA3_256" })], given(hex("b")))).toBeUndefined();
  });

  it("is a recovery key only with weight and hash of one, and unrevoked", () => {
    expect(recoveryKeyOf(keys, given(hex("c")))?.index).toBe(2);
    for (const other of ["a", "b", "d"]) expect(recoveryKeyOf(keys, given(hex(other)))).toBeUndefined();
    expect(recoveryKeyOf([{ ...keys[2]!, revoked: true }], given(hex("c")))).toBeUndefined();
  });

  it("counts towards the most only as an active user key", () => {
    expect(() => requireBelowKeyLimit(keys, 2)).not.toThrow();
    expect(() => requireBelowKeyLimit(keys, 1)).toThrow("TooManyKeys");
  });
});
