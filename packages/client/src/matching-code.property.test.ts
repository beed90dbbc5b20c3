import { KEY_ALGORITHMS, type PublicKey } from "@countersign/keys";
import { generateKeyPair, publicKeyOf } from "@countersign/keys/node";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { matchingCodeOf } from "./key-addition.ts";
import { matchingCode, sameMatchingCode } from "./matching-code.ts";
import { askedBy } from "./testing/two-factor.ts";

const newKey = (algorithm: PublicKey["algorithm"]) => publicKeyOf(generateKeyPair(algorithm).privateKey);
const pool = Object.fromEntries(
  KEY_ALGORITHMS.map((algorithm) => [algorithm, Array.from({ length: 30 }, () => newKey(algorithm))]),
);
const keys = (...algorithms: PublicKey["algorithm"][]) =>
  fc.constantFrom(...algorithms).chain((algorithm) => fc.constantFrom(...pool[algorithm]!));
const accountKeys = keys("ES256", "ES256K");
const deviceKeys = keys("ES256", "ES256K", "EdDSA");

/** The same code as a person might type it. */
const typed = (code: string) =>
  fc
    .tuple(...[...code].map((character) => fc.constantFrom(...spellings(character))))
    .map((characters) => characters.join(""));
const spellings = (character: string): string[] => {
  if (character === "-") return ["-", "", " ", "–", " - "];
  const alike = { "0": ["o", "O"], "1": ["i", "I", "l", "L"] }[character] ?? [];
  return [character, character.toLowerCase(), ...alike];
};

describe("the matching code", () => {
  it("is eight characters that nobody mistakes", () => {
    fc.assert(
      fc.property(accountKeys, deviceKeys, (accountKey, deviceKey) => {
        expect(matchingCode({ accountKey, deviceKey })).toMatch(/^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/);
      }),
    );
  });

  it("is what it always was", () => {
    const publicKey =
      "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296" +
      "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5";
    const accountKey = { algorithm: "ES256", publicKey } as const;
    const deviceKey = {
      algorithm: "EdDSA",
      publicKey: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    } as const;
    expect([
      matchingCode({ accountKey, deviceKey }),
      matchingCode({ accountKey, deviceKey: accountKey }),
    ]).toMatchInlineSnapshot(`
      [
        "WVZT-FYES",
        "ANJH-BPJ1",
      ]
    `);
  });

  it("both sides agree, whatever the keys", () => {
    fc.assert(
      fc.property(accountKeys, deviceKeys, (accountKey, deviceKey) => {
        expect(matchingCodeOf(askedBy(accountKey, { device: deviceKey }))).toBe(
          matchingCode({ accountKey, deviceKey }),
        );
      }),
    );
  });

  it("has one value for every spelling of the keys", () => {
    fc.assert(
      fc.property(accountKeys, deviceKeys, ({ algorithm, publicKey }, deviceKey) => {
        const code = matchingCode({ accountKey: { algorithm, publicKey }, deviceKey });
        for (const spelling of [publicKey.toUpperCase(), `0x${publicKey}`, `04${publicKey}`]) {
          expect(matchingCode({ accountKey: { algorithm, publicKey: spelling }, deviceKey })).toBe(code);
        }
      }),
    );
  });

  it("is another one for any other key, for another role and for another curve", () => {
    fc.assert(
      fc.property(accountKeys, deviceKeys, accountKeys, (accountKey, deviceKey, other) => {
        const code = matchingCode({ accountKey, deviceKey });
        if (other.publicKey !== accountKey.publicKey)
          expect(matchingCode({ accountKey: other, deviceKey })).not.toBe(code);
        if (other.publicKey !== deviceKey.publicKey) {
          expect(matchingCode({ accountKey, deviceKey: other })).not.toBe(code);
        }
        if (deviceKey.publicKey !== accountKey.publicKey) {
          expect(matchingCode({ accountKey: deviceKey, deviceKey: accountKey })).not.toBe(code);
        }
      }),
    );
  });

  it("changes with any bit of an Ed25519 key that is still a key, and no bit makes it a throwing surprise", () => {
    fc.assert(
      fc.property(keys("EdDSA"), accountKeys, fc.nat(255), (deviceKey, accountKey, bit) => {
        const bytes = Buffer.from(deviceKey.publicKey, "hex");
        bytes[bit >> 3]! ^= 1 << (bit & 7);
        const changed = { ...deviceKey, publicKey: bytes.toString("hex") };
        let code: string | undefined;
        try {
          code = matchingCode({ accountKey, deviceKey: changed });
        } catch (error) {
          expect((error as Error).name).toBe("PublicKeyError");
        }
        expect(code).not.toBe(matchingCode({ accountKey, deviceKey }));
      }),
    );
  });

  it("any changed bit of a P-256 key is no key or another code", () => {
    fc.assert(
      fc.property(accountKeys, fc.nat(511), (accountKey, bit) => {
        const bytes = Buffer.from(accountKey.publicKey, "hex");
        bytes[bit >> 3]! ^= 1 << (bit & 7);
        expect(() =>
          matchingCode({ accountKey: { ...accountKey, publicKey: bytes.toString("hex") }, deviceKey: accountKey }),
        ).toThrow("not a point");
      }),
    );
  });
});

describe("comparing codes", () => {
  const codes = fc
    .tuple(accountKeys, deviceKeys)
    .map(([accountKey, deviceKey]) => matchingCode({ accountKey, deviceKey }));

  it("forgives how it is typed", () => {
    fc.assert(
      fc.property(
        codes.chain((code) => fc.tuple(fc.constant(code), typed(code), typed(code))),
        ([code, first, second]) => {
          expect(sameMatchingCode(code, first)).toBe(true);
          expect(sameMatchingCode(second, first)).toBe(true);
        },
      ),
    );
  });

  it("forgives no other character", () => {
    fc.assert(
      fc.property(codes, fc.nat(8), fc.constantFrom(..."0123456789ABCDEFGHJKMNPQRSTVWXYZU*"), (code, at, character) => {
        const changed = code.slice(0, at) + character + code.slice(at + 1);
        expect(sameMatchingCode(code, changed)).toBe(changed === code);
      }),
    );
  });

  it("what is no code is the same as nothing", () => {
    for (const text of ["", "-", "UUUU-UUUU", "0000-000", "0000-00000", "ÀÀÀÀ-ÀÀÀÀ"]) {
      expect(sameMatchingCode(text, text)).toBe(false);
    }
  });
});
