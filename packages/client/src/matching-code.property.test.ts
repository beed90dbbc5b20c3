import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { KEY_ALGORITHMS, type PublicKey } from "@countersign/keys";
import { generateKeyPair, publicKeyOf } from "@countersign/keys/node";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { isMatchingCodeOf } from "./key-addition.ts";
import { isMatchingCode, type MatchingCodeInput, matchingCode } from "./matching-code.ts";
import { askedBy } from "./testing/two-factor.ts";

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const newKey = (algorithm: PublicKey["algorithm"]) => publicKeyOf(generateKeyPair(algorithm).privateKey);
const pool = Object.fromEntries(
  KEY_ALGORITHMS.map((algorithm) => [algorithm, Array.from({ length: 30 }, () => newKey(algorithm))]),
);
const keys = (...algorithms: PublicKey["algorithm"][]) =>
  fc.constantFrom(...algorithms).chain((algorithm) => fc.constantFrom(...pool[algorithm]!));
const accountKeys = keys("ES256", "ES256K");
const deviceKeys = keys("ES256", "ES256K", "EdDSA");
const own: MatchingCodeInput = { accountKey: pool.ES256![0]!, deviceKey: pool.EdDSA![0]! };

/** Returns the same code as a person might type it. */
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
  it("is eight characters that nobody mistakes, and the other side knows it", () => {
    fc.assert(
      fc.property(accountKeys, deviceKeys, (accountKey, deviceKey) => {
        const code = matchingCode({ accountKey, deviceKey });
        expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/);
        expect(isMatchingCodeOf(askedBy(accountKey, { device: deviceKey }), code)).toBe(true);
      }),
    );
  });

  it("is drawn again each time: nobody who knows the keys knows its halves", () => {
    const codes = Array.from({ length: 200 }, () => matchingCode(own));
    for (const code of codes) expect(isMatchingCode(code, own)).toBe(true);
    for (const half of [0, 1]) expect(new Set(codes.map((code) => code.split("-")[half])).size).toBeGreaterThan(190);
  });

  it("draws its first half from the random source, evenly", () => {
    const halves = Array.from({ length: 256 }, (_, byte) =>
      matchingCode(own, (length) => new Uint8Array(length).fill(byte)),
    );
    const counts = Map.groupBy(halves, (code) => code[0]!);
    expect(new Set(counts.keys())).toEqual(new Set(ALPHABET));
    for (const { length } of counts.values()) expect(length).toBe(8);
  });

  it("is what the documentation says, line by line", async () => {
    const page = await readFile(new URL("../../../docs/two-factor.md", import.meta.url), "utf8");
    const vectors = JSON.parse(/```json\n(\[[^`]*"code"[^`]*)```/.exec(page)![1]!) as (MatchingCodeInput & {
      code: string;
    })[];
    expect(vectors).toHaveLength(3);
    for (const { code, ...input } of vectors) expect(isMatchingCode(code, input)).toBe(true);
    expect(new Set(vectors.map(({ code }) => code.slice(5))).size).toBe(vectors.length);
  });

  it("has 20 bits of SHA-256 over its first half and the keys as its second", () => {
    const [drawn, second] = matchingCode(own).split("-");
    const text = `countersign-matching-code-v3\n${drawn}\nES256 ${own.accountKey.publicKey}\nEdDSA ${own.deviceKey.publicKey}\n`;
    const digest = createHash("sha256").update(text).digest();
    expect([...digest.subarray(0, 4)].map((byte) => ALPHABET[byte % 32]).join("")).toBe(second);
  });

  it("without a random source is an error, not a code that can be guessed", () => {
    vi.stubGlobal("crypto", undefined);
    try {
      expect(() => matchingCode(own)).toThrow("give the client `randomBytes`");
      expect(matchingCode(own, () => new Uint8Array(4))).toMatch(/^0000-/);
    } finally {
      vi.unstubAllGlobals();
    }
  });

  it("is of no other key, role or curve", () => {
    fc.assert(
      fc.property(accountKeys, deviceKeys, accountKeys, (accountKey, deviceKey, other) => {
        fc.pre(new Set([accountKey, deviceKey, other].map(({ publicKey }) => publicKey)).size === 3);
        const code = matchingCode({ accountKey, deviceKey });
        expect(isMatchingCode(code, { accountKey: other, deviceKey })).toBe(false);
        expect(isMatchingCode(code, { accountKey, deviceKey: other })).toBe(false);
        expect(isMatchingCode(code, { accountKey: deviceKey, deviceKey: accountKey })).toBe(false);
      }),
    );
  });

  // A key of a server's choice, made before the code was: of all first halves, few have the same second half.
  it("cannot be prepared for: a chosen key has the code of another one by chance alone", () => {
    const chosen = { accountKey: pool.ES256![1]!, deviceKey: pool.ES256![1]! };
    const codes = Array.from({ length: 20_000 }, () => matchingCode(own));
    expect(codes.filter((code) => isMatchingCode(code, chosen)).length).toBeLessThan(4);
  });

  it.each<[string, (publicKey: string) => string]>([
    ["upper case", (publicKey) => publicKey.toUpperCase()],
    ["a prefix", (publicKey) => `0x${publicKey}`],
    ["the uncompressed form", (publicKey) => `04${publicKey}`],
    ["a digit less", (publicKey) => publicKey.slice(1)],
    ["another letter", (publicKey) => publicKey.replace(/.$/, "g")],
    ["nothing", () => ""],
  ])("of a key that is not in canonical form is a PublicKeyError: %s", (_, change) => {
    const accountKey = { ...own.accountKey, publicKey: change(own.accountKey.publicKey) };
    for (const work of [() => matchingCode({ ...own, accountKey }), () => isMatchingCode("", { ...own, accountKey })]) {
      expect(work).toThrow("not a public key in canonical form");
    }
  });
});

describe("a typed code", () => {
  it("may be spelled in many ways", () => {
    fc.assert(
      fc.property(fc.constantFrom(...Array.from({ length: 20 }, () => matchingCode(own))).chain(typed), (spelled) => {
        expect(isMatchingCode(spelled, own)).toBe(true);
      }),
    );
  });

  it("may have no other character", () => {
    const code = matchingCode(own);
    fc.assert(
      fc.property(fc.integer({ min: 5, max: 8 }), fc.constantFrom(...ALPHABET, "U", "*"), (at, character) => {
        const changed = code.slice(0, at) + character + code.slice(at + 1);
        expect(isMatchingCode(changed, own)).toBe(changed === code);
      }),
    );
  });

  it("is false where it is no code", () => {
    const code = matchingCode(own);
    for (const text of ["", "-", code.slice(0, 4), code.slice(5), `${code}0`, `0${code}`, code.slice(1), "ÀÀÀÀ-ÀÀÀÀ"]) {
      expect(isMatchingCode(text, own), text).toBe(false);
    }
  });
});
