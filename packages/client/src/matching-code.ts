import { type PublicKey, parsePublicKey } from "@countersign/keys";
import { sha256 } from "@noble/hashes/sha2.js";

/** Crockford's base32: no I, L, O and U, which are read as something else. */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const LENGTH = 8;
/** Says what is hashed: no digest of anything else can be a matching code's. */
const DOMAIN = "countersign-matching-code-v1";

/** The keys of the device that asks. */
export interface AskingKeys {
  /** What is to be added on chain. */
  accountKey: PublicKey;
  /** The device's identity key; often the same key. */
  deviceKey: PublicKey;
}

/**
 * The code that shows a person whether the device in their hand is the one that asks: shown by that device, derived from its own keys, and
 * derived again on the approving device from what it is asked to sign. `XXXX-XXXX`, the first 40 bits of SHA-256 over a domain tag and both
 * keys in canonical form with their algorithms. Throws PublicKeyError for what is no key.
 */
export function matchingCode({ accountKey, deviceKey }: AskingKeys): string {
  const lines = [DOMAIN, ...[accountKey, deviceKey].map(canonical), ""];
  const digest = sha256(new TextEncoder().encode(lines.join("\n")));
  let bits = digest.subarray(0, 5).reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
  let code = "";
  for (let at = 0; at < LENGTH; at++) {
    code = ALPHABET[Number(bits & 31n)] + code;
    bits >>= 5n;
  }
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}

/**
 * Whether two codes are the same to a person who reads or types them: case, hyphens and spaces aside, with O for 0 and I or L for 1. What is
 * no code is the same as nothing.
 */
export function sameMatchingCode(a: string, b: string): boolean {
  const [first, second] = [normal(a), normal(b)];
  return first !== undefined && first === second;
}

function canonical({ algorithm, publicKey }: PublicKey): string {
  const key = parsePublicKey(publicKey, algorithm);
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
