import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { bytesToBase64url } from "../base64url.ts";
import { generateKeyPair, verifyAssertion } from "../node.ts";
import { type Said, sha256, simulatedPasskey, TEST_RELYING_PARTY } from "../testing/simulated-authenticator.ts";
import { type Assertion, type AssertionPurpose, challengeOf } from "./assertion.ts";
import { PasskeyError } from "./passkey-error.ts";

const passkey = simulatedPasskey();
const challenge = randomBytes(16);
const login = { login: challenge };
const message = Buffer.concat([Buffer.from("FLOW-V0.0-transaction".padEnd(32, "\0")), randomBytes(200)]);
const parties = [{ rpId: "other.example", origins: ["https://other.example"] }, TEST_RELYING_PARTY];
const [origin] = TEST_RELYING_PARTY.origins;

const verify = (assertion: Assertion, purpose: AssertionPurpose = login, key = passkey.publicKey) =>
  verifyAssertion(key, assertion, purpose, parties);

function problemOf(assertion: Assertion, purpose: AssertionPurpose = login, key = passkey.publicKey): string {
  try {
    verify(assertion, purpose, key);
  } catch (error) {
    if (error instanceof PasskeyError) return error.problem;
    throw error;
  }
  return "verified";
}

const said = (change: Said) => problemOf(passkey.assert(challenge, change));
const usual = { type: "webauthn.get", challenge: bytesToBase64url(challenge), origin, crossOrigin: false };
const written = (json: string | Buffer) => said({ clientDataJSON: Buffer.from(json) });
const members = (text: string) => JSON.stringify(usual).replace(/}$/, `,${text}}`);

describe("an assertion", () => {
  it("is verified, for a login and for a transaction", () => {
    expect(verify(passkey.assert(challenge, { signCount: 7 }))).toEqual({
      rpId: TEST_RELYING_PARTY.rpId,
      origin,
      signCount: 7,
    });
    expect(problemOf(passkey.assert(sha256(message)), { transaction: message })).toBe("verified");
  });

  it.each<[string, Said]>([
    ["unknown members of newer clients", { client: { other_keys_can_be_added_here: "do not compare" } }],
    ["members of other names inside of others", { client: { tokenBinding: { status: "supported", type: "x" } } }],
    ["an Android app", { client: { origin: TEST_RELYING_PARTY.origins[1], androidPackageName: "com.example" } }],
    ["no crossOrigin, as on phones", { client: { crossOrigin: undefined } }],
    ["a passkey that is not backed up", { flags: 0x05 }],
    [
      "outputs of extensions",
      { flags: 0x9d, extensions: Buffer.from("a16b686d61632d736563726574581800".padEnd(78, "0"), "hex") },
    ],
  ])("may come with %s", (_, change) => {
    expect(said(change)).toBe("verified");
  });

  it.each<[string, Said, string]>([
    ["another type", { client: { type: "webauthn.create" } }, "type"],
    ["no type", { client: { type: undefined } }, "malformed"],
    ["another origin", { client: { origin: "https://wallet.example.com.evil.example" } }, "relying-party"],
    ["an origin with a slash", { client: { origin: `${origin}/` } }, "relying-party"],
    ["an origin in other letters", { client: { origin: "https://WALLET.example.com" } }, "relying-party"],
    ["plain http", { client: { origin: "http://wallet.example.com" } }, "relying-party"],
    ["an app that is not listed", { client: { origin: `android:apk-key-hash:${"B".repeat(43)}` } }, "relying-party"],
    ["another RP id", { rpId: "example.com" }, "relying-party"],
    ["one party's id with another one's origin", { rpId: "other.example" }, "relying-party"],
    ["one party's origin with another one's id", { client: { origin: "https://other.example" } }, "relying-party"],
    ["nobody present", { flags: 0x1c }, "user-presence"],
    ["nobody verified", { flags: 0x19 }, "user-verification"],
    ["a page of another origin around it", { client: { crossOrigin: true } }, "cross-origin"],
    ["a named page around it", { client: { topOrigin: "https://evil.example" } }, "cross-origin"],
    ["crossOrigin as text", { client: { crossOrigin: "false" } }, "malformed"],
    ["backed up without being eligible", { flags: 0x15 }, "malformed"],
    ["attested credential data", { flags: 0x5d }, "malformed"],
    ["a byte behind the authenticator data", { extensions: Buffer.of(0) }, "malformed"],
    ["extensions that it does not announce", { extensions: Buffer.of(0xa0) }, "malformed"],
    ["announced extensions that are not there", { flags: 0x9d }, "malformed"],
    ["extensions that are no map", { flags: 0x9d, extensions: Buffer.of(0x80) }, "malformed"],
    ["a byte behind the extensions", { flags: 0x9d, extensions: Buffer.of(0xa0, 0) }, "malformed"],
    [
      "extensions that claim a gigabyte",
      { flags: 0x9d, extensions: Buffer.of(0xba, 0x7f, 255, 255, 255) },
      "malformed",
    ],
    ["extensions that nest without end", { flags: 0x9d, extensions: Buffer.alloc(900, 0xa1) }, "malformed"],
    ["extensions of indefinite length", { flags: 0x9d, extensions: Buffer.of(0xbf, 0xff) }, "malformed"],
    [
      "too many extensions",
      { flags: 0x9d, extensions: Buffer.concat([Buffer.of(0xa1, 0, 0x59, 4, 0), Buffer.alloc(1024)]) },
      "malformed",
    ],
  ])("is refused with %s", (_, change, problem) => {
    expect(said(change)).toBe(problem);
  });

  it.each<[string, string | Buffer, string]>([
    ["a challenge twice", members(`"challenge":"${bytesToBase64url(randomBytes(16))}"`), "malformed"],
    ["the same challenge twice", members(`"challenge":"${usual.challenge}"`), "malformed"],
    ["a challenge twice, once in capitals", members('"Challenge":"x"'), "malformed"],
    ["a type twice, once escaped", members('"\\u0074ype":"webauthn.create"'), "malformed"],
    ["an origin twice, with a space", members('"origin" :"https://evil.example"'), "malformed"],
    ["bytes behind it", `${JSON.stringify(usual)}x`, "malformed"],
    ["white space behind it", `${JSON.stringify(usual)} `, "malformed"],
    ["a second object behind it", JSON.stringify(usual).repeat(2), "malformed"],
    ["a byte order mark", `\ufeff${JSON.stringify(usual)}`, "malformed"],
    ["a list around it", `[${JSON.stringify(usual)}]`, "malformed"],
    [
      "bytes that are no UTF-8",
      Buffer.concat([Buffer.from(members('"x":"')).subarray(0, -1), Buffer.of(0xff, 0x22, 0x7d)]),
      "malformed",
    ],
    ["too much", members(`"x":"${"x".repeat(2048)}"`), "malformed"],
    ["nothing", "", "malformed"],
    ["an empty object", "{}", "malformed"],
    ["null as its challenge", JSON.stringify({ ...usual, challenge: null }), "malformed"],
    ["a challenge with padding", JSON.stringify({ ...usual, challenge: `${usual.challenge}==` }), "challenge"],
    ["a challenge in hex", JSON.stringify({ ...usual, challenge: challenge.toString("hex") }), "challenge"],
    ["an empty challenge", JSON.stringify({ ...usual, challenge: "" }), "challenge"],
  ])("is refused where clientDataJSON has %s", (_, json, problem) => {
    expect(written(json)).toBe(problem);
  });

  it("is refused in base64 where base64url is asked for", () => {
    const special = Buffer.alloc(16, 0xfb);
    const client = { challenge: special.toString("base64").replace(/=+$/, "") };
    expect(client.challenge).toMatch(/[+/]/);
    expect(problemOf(passkey.assert(special, { client }), { login: special })).toBe("challenge");
    expect(problemOf(passkey.assert(special), { login: special })).toBe("verified");
  });

  it("is refused in a non-canonical encoding of the challenge's last bits", () => {
    const zeros = Buffer.alloc(16);
    expect(bytesToBase64url(zeros)).toBe("A".repeat(22));
    expect(problemOf(passkey.assert(zeros, { client: { challenge: `${"A".repeat(21)}B` } }), { login: zeros })).toBe(
      "challenge",
    );
  });

  it("is of one key, one challenge and one set of bytes", () => {
    const assertion = passkey.assert(challenge);
    expect(problemOf(assertion, login, simulatedPasskey().publicKey)).toBe("signature");
    expect(problemOf(assertion, login, generateKeyPair("ES256K").publicKey)).toBe("signature");
    expect(problemOf(assertion, login, generateKeyPair("EdDSA").publicKey)).toBe("signature");
    expect(problemOf(assertion, { login: randomBytes(16) })).toBe("challenge");
    const later = passkey.assert(challenge, { signCount: 1 });
    expect(problemOf({ ...assertion, authenticatorData: later.authenticatorData })).toBe("signature");
    expect(problemOf({ ...assertion, signature: later.signature })).toBe("signature");
    expect(problemOf({ ...assertion, signature: new Uint8Array() })).toBe("signature");
    expect(problemOf({ ...assertion, signature: Buffer.concat([assertion.signature, Buffer.of(0)]) })).toBe(
      "signature",
    );
    const negation = { ...passkey.publicKey, publicKey: negated(passkey.publicKey.publicKey) };
    expect(problemOf(assertion, login, negation)).toBe("signature");
  });
});

/** Returns the key (x, −y). */
function negated(key: string): string {
  const prime = 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffffn;
  return key.slice(0, 64) + (prime - BigInt(`0x${key.slice(64)}`)).toString(16).padStart(64, "0");
}

describe("a login and a transaction", () => {
  it("cannot be passed off as one another", () => {
    // A login requested with a transaction's digest: an attacker wants a transaction signed.
    expect(() => challengeOf({ login: sha256(message) })).toThrow(TypeError);
    expect(() => verify(passkey.assert(sha256(message)), { login: sha256(message) })).toThrow(TypeError);
    // A transaction's signature answers no login, also where the challenge is a part of the digest.
    const ofTransaction = passkey.assert(sha256(message));
    expect(problemOf(ofTransaction, login)).toBe("challenge");
    expect(problemOf(ofTransaction, { login: sha256(message).subarray(0, 16) })).toBe("challenge");
    // A login's answer signs no transaction: not of any message, and not of the challenge itself.
    const ofLogin = passkey.assert(challenge);
    for (const transaction of [message, challenge, sha256(challenge), new Uint8Array()]) {
      expect(problemOf(ofLogin, { transaction })).toBe("challenge");
    }
  });

  it("have challenges of 16 and of 32 bytes, and nothing else", () => {
    for (const length of [0, 1, 15, 17, 31, 32, 64]) {
      expect(() => challengeOf({ login: randomBytes(length) })).toThrow(TypeError);
    }
    for (const length of [0, 16, 32, 100]) expect(challengeOf({ transaction: randomBytes(length) })).toHaveLength(32);
  });
});
