import { createPublicKey } from "node:crypto";
import { p256 } from "@noble/curves/nist.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bytesToHex, hexToBytes, isHex } from "./hex.ts";
import { generateKeyPair, recoverSigners, signMessage, verifySignature } from "./node.ts";
import { KEY_ALGORITHMS, type KeyAlgorithm, type PublicKey, PublicKeyError, parsePublicKey } from "./public-key.ts";
import { parseSignature, SignatureError, signatureFromDer, signatureToDer } from "./signature.ts";

const CURVES = { ES256: p256, ES256K: secp256k1 } as const;
const ecdsa = fc.constantFrom("ES256" as const, "ES256K" as const);
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });

function parsed(text: string, algorithm: KeyAlgorithm): PublicKey | undefined {
  try {
    return parsePublicKey(text, algorithm);
  } catch (error) {
    expect(error, text).toBeInstanceOf(PublicKeyError);
    return undefined;
  }
}

/** Whether OpenSSL takes x||y as a point of the curve. */
function opensslTakes(point: Uint8Array, algorithm: "ES256" | "ES256K"): boolean {
  const part = (from: number) => Buffer.from(point.subarray(from, from + 32)).toString("base64url");
  try {
    const crv = algorithm === "ES256" ? "P-256" : "secp256k1";
    createPublicKey({ format: "jwk", key: { kty: "EC", crv, x: part(0), y: part(32) } });
    return true;
  } catch {
    return false;
  }
}

describe("public keys", () => {
  it("every text is refused, or has one canonical form that stays as it is", () => {
    const hex = fc
      .constantFrom(0, 1, 31, 32, 33, 34, 63, 64, 65, 66, 67)
      .chain((length) => bytes(length))
      .map(bytesToHex);
    const spelled = fc.oneof(
      hex,
      hex.map((text) => text.toUpperCase()),
      hex.map((text) => `0x${text}`),
      hex.map((text) => `02${text}`),
      hex.map((text) => `04${text}`),
      fc.string({ maxLength: 140 }),
      fc.string({ unit: "grapheme", maxLength: 70 }),
    );
    fc.assert(
      fc.property(spelled, fc.constantFrom(...KEY_ALGORITHMS), (text, algorithm) => {
        const key = parsed(text, algorithm);
        if (!key) return;
        expect(key.publicKey).toMatch(key.algorithm === "EdDSA" ? /^[0-9a-f]{64}$/ : /^[0-9a-f]{128}$/);
        expect(parsePublicKey(key.publicKey, key.algorithm)).toEqual(key);
      }),
      { numRuns: 1500 },
    );
  });

  it("takes exactly the points that OpenSSL takes", () => {
    const point = fc.tuple(ecdsa, bytes(31), fc.nat(63), fc.nat(255), fc.boolean());
    fc.assert(
      fc.property(point, ([algorithm, scalar, at, flip, sound]) => {
        const secret = Uint8Array.from([1, ...scalar]);
        const key = CURVES[algorithm].getPublicKey(secret, false).slice(1);
        if (!sound) key[at]! ^= flip;
        expect(parsed(bytesToHex(key), algorithm) !== undefined).toBe(opensslTakes(key, algorithm));
      }),
      { numRuns: 300 },
    );
  });

  it.each(["ES256", "ES256K"] as const)(
    "%s: no change of one digit leaves a key the same or loses its error",
    (algorithm) => {
      const { publicKey } = generateKeyPair(algorithm).publicKey;
      const point = CURVES[algorithm].Point.fromHex(`04${publicKey}`);
      for (const spelling of [publicKey, `04${publicKey}`, point.toHex(true)]) {
        for (let at = 0; at < spelling.length; at++) {
          for (const digit of "0123456789abcdef") {
            if (digit === spelling[at]) continue;
            const changed = spelling.slice(0, at) + digit + spelling.slice(at + 1);
            const other = parsed(changed, algorithm);
            if (other) expect(other.publicKey, changed).not.toBe(publicKey);
          }
          // A digit fewer or more is half a byte.
          expect(parsed(spelling.slice(0, at) + spelling.slice(at + 1), algorithm)).toBeUndefined();
        }
      }
    },
  );

  it("Ed25519: no other 32 bytes name the same key", () => {
    fc.assert(
      fc.property(fc.nat(31), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const { publicKey } = generateKeyPair("EdDSA").publicKey;
        const changed = hexToBytes(publicKey);
        changed[at]! ^= flip;
        const other = parsed(bytesToHex(changed), "EdDSA");
        if (other) expect(other.publicKey).toBe(bytesToHex(changed));
      }),
      { numRuns: 200 },
    );
  });

  // Work that grows with the square of the length would take hours.
  it("a text of megabytes is refused", () => {
    for (const text of ["ab".repeat(20_000_000), "0x".repeat(10_000_000), " ".repeat(20_000_000)]) {
      expect(parsed(text, "ES256")).toBeUndefined();
    }
  });
});

/** X.690: the DER of an ECDSA signature, written by another hand than the parser. */
function derOf(raw: Uint8Array): Uint8Array {
  const integer = (part: Uint8Array): number[] => {
    const digits = [...part];
    while (digits.length > 1 && digits[0] === 0) digits.shift();
    if (digits[0]! >= 0x80) digits.unshift(0);
    return [2, digits.length, ...digits];
  };
  const body = [...integer(raw.subarray(0, 32)), ...integer(raw.subarray(32))];
  return Uint8Array.from([0x30, body.length, ...body]);
}

/** Refused, raw as it stands, or the one DER of what was read. */
function checkSpelling(signature: Uint8Array): void {
  let raw: Uint8Array;
  try {
    raw = parseSignature(signature);
  } catch (error) {
    expect(error, bytesToHex(signature)).toBeInstanceOf(SignatureError);
    return;
  }
  expect(raw).toHaveLength(64);
  if (signature.length === 64) expect(raw).toEqual(signature);
  else expect(bytesToHex(derOf(raw))).toBe(bytesToHex(signature));
}

describe("signatures", () => {
  const half = fc
    .tuple(fc.nat(32), bytes(32))
    .map(([zeros, part]) => Uint8Array.from(part, (byte, at) => (at < zeros ? 0 : byte)));
  const raws = fc.tuple(half, half).map(([r, s]) => Uint8Array.from([...r, ...s]));

  it("DER reads back as what it was made of", () => {
    fc.assert(
      fc.property(raws, (raw) => {
        const der = derOf(raw);
        expect(signatureToDer(raw)).toEqual(der);
        expect(signatureFromDer(der)).toEqual(raw);
        // A short r and s can make DER of 64 bytes, which is raw by its length.
        fc.pre(der.length !== 64);
        expect(parseSignature(der)).toEqual(raw);
      }),
      { numRuns: 2000 },
    );
  });

  it("every change of one byte, left out or put in, is refused or is the one DER of something else", () => {
    fc.assert(
      fc.property(raws, (raw) => {
        const der = derOf(raw);
        for (let at = 0; at <= der.length; at++) {
          checkSpelling(Uint8Array.from([...der.subarray(0, at), ...der.subarray(at + 1)]));
          for (const value of [0, 1, 2, 0x20, 0x21, 0x7f, 0x80, 0x81, 0xff, der.length - 2, der.length - 1]) {
            checkSpelling(Uint8Array.from([...der.subarray(0, at), value, ...der.subarray(at)]));
            if (at < der.length) checkSpelling(Uint8Array.from(der, (byte, i) => (i === at ? value : byte)));
          }
        }
      }),
      { numRuns: 15 },
    );
  });

  it("a hundred thousand random inputs are read or refused", () => {
    const headed = fc
      .tuple(fc.constantFrom(6, 32, 33, 34, 66, 70), fc.uint8Array({ maxLength: 80 }))
      .map(([length, rest]) => Uint8Array.from([0x30, rest.length + 2, 2, Math.min(length, 33), ...rest]));
    for (const input of fc.sample(fc.oneof(headed, fc.uint8Array({ maxLength: 80 })), 100_000)) {
      try {
        parseSignature(input);
      } catch (error) {
        if (!(error instanceof SignatureError)) throw new Error(bytesToHex(input), { cause: error });
      }
    }
  });
});

describe("hex", () => {
  it("is whole bytes, whichever case it is written in", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (data) => {
        const text = bytesToHex(data);
        for (const spelling of [text, text.toUpperCase(), `0x${text}`]) expect(hexToBytes(spelling)).toEqual(data);
        expect(isHex(`${text}0`)).toBe(false);
        expect(isHex(`${text}\n`)).toBe(false);
      }),
    );
  });
});

describe("the keys that a signature can be of", () => {
  const message = fc.uint8Array({ maxLength: 100 });
  const keyOf = (algorithm: "ES256" | "ES256K", publicKey: string) => ({ algorithm, publicKey });

  it("contain its key, also of DER and with the other s", () => {
    fc.assert(
      fc.property(ecdsa, message, (algorithm, text) => {
        const { privateKey, publicKey } = generateKeyPair(algorithm);
        const raw = signMessage(privateKey, text);
        const s = CURVES[algorithm].Point.Fn.ORDER - BigInt(`0x${bytesToHex(raw.subarray(32))}`);
        const other = Buffer.concat([raw.subarray(0, 32), hexToBytes(s.toString(16).padStart(64, "0"))]);
        for (const signature of [raw, signatureToDer(raw), other]) {
          expect(verifySignature(publicKey, text, signature)).toBe(true);
          expect(recoverSigners(algorithm, text, signature)).toContain(publicKey.publicKey);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("all verify it, also of random bytes", () => {
    fc.assert(
      fc.property(
        ecdsa,
        message,
        fc.oneof(bytes(64), fc.uint8Array({ maxLength: 80 })),
        (algorithm, text, signature) => {
          for (const publicKey of recoverSigners(algorithm, text, signature))
            expect(verifySignature(keyOf(algorithm, publicKey), text, signature)).toBe(true);
        },
      ),
      { numRuns: 100 },
    );
  });
});
