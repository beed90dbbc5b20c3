import { canonicalPublicKey, type PublicKey } from "@countersign/keys";
import { sha256 } from "@noble/hashes/sha2.js";

/** Crockford's base32: without I, L, O and U, which are easily misread. */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const HALF = 4;
/** Domain separation: a hash that begins so belongs to a matching code and nothing else. */
const DOMAIN = "countersign-matching-code-v3";

/** Returns so many bytes that nobody can guess. */
export type RandomBytes = (length: number) => Uint8Array;

const platformBytes: RandomBytes = (length) => {
  if (globalThis.crypto?.getRandomValues) return globalThis.crypto.getRandomValues(new Uint8Array(length));
  throw new Error(
    "no crypto.getRandomValues here: give the client `randomBytes`, such as expo-crypto's getRandomBytes",
  );
};

/** The keys of a new device. */
export interface MatchingCodeInput {
  /** The key that is to be added on chain. */
  accountKey: PublicKey;
  /** The requesting device's identity key; often the same key. */
  deviceKey: PublicKey;
}

/**
 * Makes a code by which a person sees that the device in their hand is the requesting one: `XXXX-XXXX`. The
 * first half is drawn here and reaches the approving device by the person alone, so that a server cannot look
 * for keys with the same second half: 20 bits of SHA-256 over the first half and the keys in canonical form.
 * Each call makes another code, and all of them match. Throws PublicKeyError for an invalid key, and without
 * `random` an Error where the platform has no `crypto.getRandomValues`.
 * @example matchingCode({ accountKey: deviceKey, deviceKey }).length; // => 9
 */
export function matchingCode(keys: MatchingCodeInput, random: RandomBytes = platformBytes): string {
  const drawn = characters(random(HALF));
  return `${drawn}-${secondHalf(drawn, keys)}`;
}

/**
 * Returns whether a device with these keys may have made a code: case, hyphens and spaces aside, with O for 0
 * and I or L for 1. Throws PublicKeyError for an invalid key.
 * @example
 * const keys = { accountKey: deviceKey, deviceKey };
 * isMatchingCode(matchingCode(keys).toLowerCase(), keys); // => true
 */
export function isMatchingCode(typed: string, keys: MatchingCodeInput): boolean {
  const code = typed
    .toUpperCase()
    .replace(/[\s\p{Dash_Punctuation}]/gu, "")
    .replaceAll("O", "0")
    .replace(/[IL]/g, "1");
  return code.slice(HALF) === secondHalf(code.slice(0, HALF), keys);
}

function secondHalf(drawn: string, keys: MatchingCodeInput): string {
  const lines = [DOMAIN, drawn, canonical(keys.accountKey), canonical(keys.deviceKey)];
  const text = lines.map((line) => `${line}\n`).join("");
  return characters(sha256(new TextEncoder().encode(text)).subarray(0, HALF));
}

const characters = (bytes: Uint8Array): string => Array.from(bytes, (byte) => ALPHABET[byte & 31]).join("");

function canonical(given: PublicKey): string {
  const key = canonicalPublicKey(given);
  return `${key.algorithm} ${key.publicKey}`;
}
