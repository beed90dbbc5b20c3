import { pbkdf2Sync } from "node:crypto";
import { readFile } from "node:fs/promises";
import { KEY_ALGORITHMS, type PublicKey } from "@countersign/keys";
import { generateKeyPair, publicKeyOf } from "@countersign/keys/node";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { matchingCodeOf } from "./key-addition.ts";
import { type MatchingCodeInput, matchingCode, sameMatchingCode } from "./matching-code.ts";
import { askedBy } from "./testing/two-factor.ts";

const newKey = (algorithm: PublicKey["algorithm"]) => publicKeyOf(generateKeyPair(algorithm).privateKey);
const pool = Object.fromEntries(
  KEY_ALGORITHMS.map((algorithm) => [algorithm, Array.from({ length: 30 }, () => newKey(algorithm))]),
);
const keys = (...algorithms: PublicKey["algorithm"][]) =>
  fc.constantFrom(...algorithms).chain((algorithm) => fc.constantFrom(...pool[algorithm]!));
const accountKeys = keys("ES256", "ES256K");
const deviceKeys = keys("ES256", "ES256K", "EdDSA");

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

vi.setConfig({ testTimeout: 30_000 });

/** Each derivation takes a tenth of a second, on purpose. */
const FEW = { numRuns: 3 };
const ids = fc.record({ accountId: fc.uuid({ version: 7 }), twoFactorId: fc.uuid({ version: 7 }) });
const request = {
  accountId: "0197a1b2-0000-7000-8000-000000000001",
  twoFactorId: "0197a1b2-0000-7000-8000-000000000003",
};

describe("the matching code", () => {
  it("is eight characters that nobody mistakes, and the same on both sides", () =>
    fc.assert(
      fc.asyncProperty(accountKeys, deviceKeys, ids, async (accountKey, deviceKey, { accountId, twoFactorId }) => {
        const code = await matchingCode({ accountId, twoFactorId, accountKey, deviceKey });
        expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/);
        const shown = { ...askedBy(accountKey, { device: deviceKey }), id: twoFactorId, accountId };
        expect(await matchingCodeOf(shown)).toBe(code);
      }),
      FEW,
    ));

  it("is what the documentation says, line by line", async () => {
    const page = await readFile(new URL("../../../docs/two-factor.md", import.meta.url), "utf8");
    const vectors = JSON.parse(/```json\n(\[[^`]*"code"[^`]*)```/.exec(page)![1]!) as (MatchingCodeInput & {
      code: string;
    })[];
    expect(vectors).toHaveLength(4);
    for (const { code, ...input } of vectors) expect(await matchingCode(input)).toBe(code);
    expect(new Set(vectors.map(({ code }) => code)).size).toBe(vectors.length);
  });

  it("follows from PBKDF2 with 200,000 rounds, also where a runtime has no WebCrypto", async () => {
    const [accountKey, deviceKey] = [pool.ES256![0]!, pool.EdDSA![0]!];
    const password = `ES256 ${accountKey.publicKey}\nEdDSA ${deviceKey.publicKey}\n`;
    const salt = `countersign-matching-code-v2\n${request.accountId}\n${request.twoFactorId}\n`;
    const digits = pbkdf2Sync(password, salt, 200_000, 5, "sha256").toString("hex");
    const base32 = [...BigInt(`0x${digits}`).toString(32).padStart(8, "0")];
    const expected = base32.map((digit) => "0123456789ABCDEFGHJKMNPQRSTVWXYZ"[Number.parseInt(digit, 32)]).join("");
    const code = await matchingCode({ ...request, accountKey, deviceKey });
    expect(code.replace("-", "")).toBe(expected);
    vi.stubGlobal("crypto", undefined);
    try {
      expect(await matchingCode({ ...request, accountKey, deviceKey })).toBe(code);
    } finally {
      vi.unstubAllGlobals();
    }
  });

  it("of the same keys is another one for each account and for each request: a table of keys made beforehand finds nothing", () =>
    fc.assert(
      fc.asyncProperty(accountKeys, ids, ids, async (key, one, other) => {
        fc.pre(one.accountId !== other.accountId && one.twoFactorId !== other.twoFactorId);
        const keys = { accountKey: key, deviceKey: key };
        const codes = await Promise.all([
          matchingCode({ ...keys, ...one }),
          matchingCode({ ...keys, ...one, accountId: other.accountId }),
          matchingCode({ ...keys, ...one, twoFactorId: other.twoFactorId }),
        ]);
        expect(new Set(codes).size).toBe(3);
      }),
      FEW,
    ));

  it("has one value for every spelling of ids", async () => {
    const { algorithm, publicKey } = pool.ES256![0]!;
    const deviceKey = pool.EdDSA![0]!;
    const code = await matchingCode({ ...request, accountKey: { algorithm, publicKey }, deviceKey });
    const upper = { accountId: request.accountId.toUpperCase(), twoFactorId: request.twoFactorId.toUpperCase() };
    expect(await matchingCode({ ...upper, accountKey: { algorithm, publicKey }, deviceKey })).toBe(code);
  });

  it("is another one for any other key, for another role and for another curve", () =>
    fc.assert(
      fc.asyncProperty(accountKeys, deviceKeys, accountKeys, async (accountKey, deviceKey, other) => {
        fc.pre(new Set([accountKey, deviceKey, other].map(({ publicKey }) => publicKey)).size === 3);
        const codes = await Promise.all([
          matchingCode({ ...request, accountKey, deviceKey }),
          matchingCode({ ...request, accountKey: other, deviceKey }),
          matchingCode({ ...request, accountKey, deviceKey: other }),
          matchingCode({ ...request, accountKey: deviceKey, deviceKey: accountKey }),
        ]);
        expect(new Set(codes).size).toBe(4);
      }),
      FEW,
    ));

  it.each<[string, (publicKey: string) => string]>([
    ["upper case", (publicKey) => publicKey.toUpperCase()],
    ["a prefix", (publicKey) => `0x${publicKey}`],
    ["the uncompressed form", (publicKey) => `04${publicKey}`],
    ["a digit less", (publicKey) => publicKey.slice(1)],
    ["another letter", (publicKey) => publicKey.replace(/.$/, "g")],
    ["nothing", () => ""],
  ])("of a key that is not in canonical form is a PublicKeyError: %s", async (_, change) => {
    const [accountKey] = pool.ES256!;
    const changed = { ...accountKey!, publicKey: change(accountKey!.publicKey) };
    await expect(matchingCode({ ...request, accountKey: changed, deviceKey: accountKey! })).rejects.toThrow(
      "not a public key in canonical form",
    );
  });
});

describe("comparing codes", () => {
  const codes = fc
    .array(fc.constantFrom(..."0123456789ABCDEFGHJKMNPQRSTVWXYZ"), { minLength: 8, maxLength: 8 })
    .map((characters) => `${characters.slice(0, 4).join("")}-${characters.slice(4).join("")}`);

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

  it("a text that is no code matches nothing, not even itself", () => {
    for (const text of ["", "-", "UUUU-UUUU", "0000-000", "0000-00000", "ÀÀÀÀ-ÀÀÀÀ"]) {
      expect(sameMatchingCode(text, text)).toBe(false);
    }
  });
});
