import { generateKeyPairSync, sign } from "node:crypto";
import { p256 } from "@noble/curves/nist.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bytesToHex, KEY_ALGORITHMS, PublicKeyError, parsePublicKey, parseSignature, SignatureError } from "./index.ts";
import { generateKeyPair, signMessage, verifySignature } from "./node.ts";

const message = new TextEncoder().encode("a message");

describe("public keys", () => {
  it("every spelling of a P-256 key has one canonical form", () => {
    const { publicKey } = generateKeyPair();
    const compressed = p256.Point.fromHex(`04${publicKey.publicKey}`).toHex(true);
    const spellings = [
      publicKey.publicKey,
      publicKey.publicKey.toUpperCase(),
      `0x${publicKey.publicKey}`,
      `04${publicKey.publicKey}`,
      compressed,
    ];
    for (const spelling of spellings) expect(parsePublicKey(spelling)).toEqual(publicKey);
  });

  it.each([
    ["a point off the curve", "11".repeat(64)],
    ["infinity", "00".repeat(64)],
    ["infinity as one byte", "00"],
    ["a hybrid encoding", `06${generateKeyPair().publicKey.publicKey}`],
    ["a coordinate above the field", "ff".repeat(64)],
    ["no bytes", ""],
    ["no hex", "zz"],
    ["half a byte", "abc"],
    ["63 bytes", "11".repeat(63)],
    ["a small-order point of Ed25519", `01${"00".repeat(31)}`],
    ["a key of another curve", generateKeyPair("ES256K").publicKey.publicKey],
  ])("refuses %s", (_, text) => {
    expect(() => parsePublicKey(text)).toThrow(PublicKeyError);
  });

  const LENGTHS = /128 digits.*130.*66.*64/;
  const spki = (curve: "prime256v1" | "secp256k1") =>
    generateKeyPairSync("ec", { namedCurve: curve }).publicKey.export({ type: "spki", format: "der" }).toString("hex");
  it.each([
    ["no digits", "", "0 digits", LENGTHS],
    ["63 bytes", "11".repeat(63), "126 digits", LENGTHS],
    ["half a byte less", "1".repeat(127), "127 digits", LENGTHS],
    ["DER of P-256", spki("prime256v1"), "DER", LENGTHS],
    ["DER of P-256 with a prefix", `0x${spki("prime256v1").toUpperCase()}`, "bare point", LENGTHS],
    ["DER of secp256k1", spki("secp256k1"), "bare point", LENGTHS],
    ["DER of Ed25519", `302a300506032b6570032100${"11".repeat(32)}`, "bare point", LENGTHS],
    ["a very long one", "11".repeat(100_000), "200000 digits", LENGTHS],
    ["no hex", "-----BEGIN PUBLIC KEY-----", "not hex", LENGTHS],
  ])("a refusal says what is taken: %s", (_, text, problem, lengths) => {
    for (const algorithm of KEY_ALGORITHMS) {
      expect(() => parsePublicKey(text, algorithm)).toThrow(problem);
      expect(() => parsePublicKey(text, algorithm)).toThrow(lengths);
    }
  });

  it("32 bytes are Ed25519, independent of the algorithm that is named", () => {
    const { publicKey } = generateKeyPair("EdDSA");
    expect(parsePublicKey(publicKey.publicKey, "ES256")).toEqual(publicKey);
  });
});

describe("signatures", () => {
  it.each(KEY_ALGORITHMS)(
    "%s: verifies its own, refuses another message, another key and malformed signatures",
    (algorithm) => {
      const pair = generateKeyPair(algorithm);
      const signature = signMessage(pair.privateKey, message);
      expect(verifySignature(pair.publicKey, message, signature)).toBe(true);
      expect(verifySignature(pair.publicKey, message.subarray(1), signature)).toBe(false);
      expect(verifySignature(generateKeyPair(algorithm).publicKey, message, signature)).toBe(false);
      for (const malformed of [signature.subarray(1), new Uint8Array(64), new Uint8Array(0)])
        expect(verifySignature(pair.publicKey, message, malformed)).toBe(false);
    },
  );

  it("takes DER, and only the one DER of a signature", () => {
    const pair = generateKeyPair();
    for (let i = 0; i < 64; i++) {
      const der = sign("sha256", message, pair.privateKey);
      expect(verifySignature(pair.publicKey, message, der)).toBe(true);
      expect(() => parseSignature(Buffer.concat([der, Buffer.from([0])]))).toThrow(SignatureError);
    }
  });

  it("never throws anything but SignatureError on garbage", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        try {
          expect(parseSignature(bytes)).toHaveLength(64);
        } catch (error) {
          expect(error, bytesToHex(bytes)).toBeInstanceOf(SignatureError);
        }
        expect(verifySignature(generateKeyPair().publicKey, message, bytes)).toBe(false);
      }),
      { numRuns: 300 },
    );
  });
});
