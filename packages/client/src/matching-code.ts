import { canonicalPublicKey, type PublicKey } from "@countersign/keys";
import { pbkdf2Async } from "@noble/hashes/pbkdf2.js";
import { sha256 } from "@noble/hashes/sha2.js";

/** Crockford's base32: without I, L, O and U, which are easily misread. */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const LENGTH = 8;
const BYTES = 5;
/** Domain separation: the output of this derivation is a matching code and nothing else. */
const DOMAIN = "countersign-matching-code-v2";
/**
 * PBKDF2-HMAC-SHA-256: about a tenth of a second in a browser or on a phone, and per guess of an attacker.
 */
const ITERATIONS = 200_000;

/** The values from which a matching code is derived. */
export interface MatchingCodeInput {
  /** The account that the new device asks to join. */
  accountId: string;
  /** `TwoFactorAuth.id`: the server mints it after it has seen the keys, and it never changes. */
  twoFactorId: string;
  /** The key that is to be added on chain. */
  accountKey: PublicKey;
  /** The requesting device's identity key; often the same key. */
  deviceKey: PublicKey;
}

/**
 * Derives the code by which a person sees that the device in their hand is the requesting one. The requesting
 * device derives it from its own keys, the approving device from the key in the message that it is about to
 * sign. `XXXX-XXXX`: 40 bits of PBKDF2-HMAC-SHA-256 over the keys in canonical form, salted with account and
 * request. Throws PublicKeyError for an invalid key.
 * @example
 * const twoFactorId = "019a0000-0000-7000-8000-000000000002";
 * const accountId = "019a0000-0000-7000-8000-000000000001";
 * (await matchingCode({ accountId, twoFactorId, accountKey: deviceKey, deviceKey })).length; // => 9
 */
export async function matchingCode(input: MatchingCodeInput): Promise<string> {
  const password = lines([canonical(input.accountKey), canonical(input.deviceKey)]);
  const salt = lines([DOMAIN, input.accountId.toLowerCase(), input.twoFactorId.toLowerCase()]);
  const digest = await pbkdf2(password, salt);
  let bits = digest.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
  let code = "";
  for (let at = 0; at < LENGTH; at++) {
    code = ALPHABET[Number(bits & 31n)] + code;
    bits >>= 5n;
  }
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}

/**
 * Returns whether two codes are the same to a person who reads or types them: case, hyphens and spaces aside,
 * with O for 0 and I or L for 1. False for anything that is not a code.
 * @example sameMatchingCode("7K3F-9Q0X", "7k3f 9qox"); // => true
 */
export function sameMatchingCode(a: string, b: string): boolean {
  const [first, second] = [normal(a), normal(b)];
  return first !== undefined && first === second;
}

async function pbkdf2(password: Uint8Array<ArrayBuffer>, salt: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const subtle = globalThis.crypto?.subtle;
  // Pages without TLS and some phone runtimes have no WebCrypto: the same in plain code, ten times as slow.
  if (!subtle) return pbkdf2Async(sha256, password, salt, { c: ITERATIONS, dkLen: BYTES });
  const key = await subtle.importKey("raw", password, "PBKDF2", false, ["deriveBits"]);
  const algorithm = { name: "PBKDF2", hash: "SHA-256", salt, iterations: ITERATIONS };
  return new Uint8Array(await subtle.deriveBits(algorithm, key, BYTES * 8));
}

/** Returns the UTF-8 of lines that each end with a line feed. */
const lines = (texts: string[]): Uint8Array<ArrayBuffer> =>
  new TextEncoder().encode(texts.map((text) => `${text}\n`).join(""));

function canonical(given: PublicKey): string {
  const key = canonicalPublicKey(given);
  return `${key.algorithm} ${key.publicKey}`;
}

function normal(code: string): string | undefined {
  const plain = code
    .toUpperCase()
    .replace(/[\s\p{Dash_Punctuation}]/gu, "")
    .replaceAll("O", "0")
    .replace(/[IL]/g, "1");
  return plain.length === LENGTH && [...plain].every((character) => ALPHABET.includes(character)) ? plain : undefined;
}
