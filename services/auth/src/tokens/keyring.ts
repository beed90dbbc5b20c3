import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { Keyring } from "../config.ts";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts under the first key. `label` is authenticated, so that a text cannot take another one's place. */
export function seal([key]: Keyring, label: string, plain: Buffer): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(label));
  const text = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), text]);
}

function openWith(key: Buffer, label: string, bytes: Buffer): Buffer | undefined {
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(label)).setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
  } catch {
    return undefined;
  }
}

/**
 * Decrypts with the key that it fits, which the authentication decides. Returns undefined where none does;
 * `isFirst`: it was encrypted under the first key.
 */
export function unseal(
  keyring: Keyring,
  label: string,
  sealed: Uint8Array,
): { plain: Buffer; isFirst: boolean } | undefined {
  const bytes = Buffer.from(sealed);
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
  for (const [at, key] of keyring.entries()) {
    const plain = openWith(key, label, bytes);
    if (plain !== undefined) return { plain, isFirst: at === 0 };
  }
  return undefined;
}
