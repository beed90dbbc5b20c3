/**
 * Thrown when the bytes are not a signature.
 * @example
 * const isSignature = (bytes: Uint8Array) => {
 *   try {
 *     return parseSignature(bytes).length === 64;
 *   } catch (error) {
 *     if (error instanceof SignatureError) return false;
 *     throw error;
 *   }
 * };
 * isSignature(new Uint8Array(3)); // => false
 */
export class SignatureError extends Error {
  override readonly name = "SignatureError";
}

/** Returns one DER INTEGER at `offset`: minimal, positive, at most 32 bytes of value. */
function derInteger(bytes: Uint8Array, offset: number): { value: Uint8Array; next: number } {
  const length = bytes[offset + 1];
  if (bytes[offset] !== 0x02 || length === undefined || length === 0 || length > 33)
    throw new SignatureError("bad DER");
  const value = bytes.subarray(offset + 2, offset + 2 + length);
  if (value.length !== length || value[0]! & 0x80) throw new SignatureError("bad DER");
  if (length > 1 && value[0] === 0 && !(value[1]! & 0x80)) throw new SignatureError("bad DER");
  if (length === 33 && value[0] !== 0) throw new SignatureError("bad DER");
  const padded = new Uint8Array(32);
  const digits = value[0] === 0 ? value.subarray(1) : value;
  padded.set(digits, 32 - digits.length);
  return { value: padded, next: offset + 2 + length };
}

/** Returns the raw 64 bytes r||s of strict DER (X.690). Throws SignatureError. */
export function signatureFromDer(bytes: Uint8Array): Uint8Array {
  if (bytes.length < 8 || bytes.length > 72 || bytes[0] !== 0x30 || bytes[1] !== bytes.length - 2) {
    throw new SignatureError("a signature is 64 bytes r||s or DER");
  }
  const r = derInteger(bytes, 2);
  const s = derInteger(bytes, r.next);
  if (s.next !== bytes.length) throw new SignatureError("bad DER");
  const raw = new Uint8Array(64);
  raw.set(r.value, 0);
  raw.set(s.value, 32);
  return raw;
}

/**
 * Returns the raw 64 bytes (r||s, or Ed25519's R||S) of a signature that is raw already or strict DER
 * (X.690). Throws SignatureError. Sixty-four bytes are always taken as raw.
 * @example parseSignature(assertion.signature).length; // => 64
 */
export const parseSignature = (bytes: Uint8Array): Uint8Array =>
  bytes.length === 64 ? bytes : signatureFromDer(bytes);

function writeDerInteger(target: Uint8Array, offset: number, value: Uint8Array): number {
  let start = 0;
  while (start < 31 && value[start] === 0) start += 1;
  const sign = value[start]! & 0x80 ? 1 : 0;
  target[offset] = 0x02;
  target[offset + 1] = 32 - start + sign;
  target.set(value.subarray(start), offset + 2 + sign);
  return offset + 2 + sign + 32 - start;
}

/**
 * Returns the DER of a raw ECDSA signature (X.690), as node:crypto takes it without an option; the inverse of
 * `signatureFromDer`.
 */
export function signatureToDer(raw: Uint8Array): Uint8Array {
  if (raw.length !== 64) throw new SignatureError("a raw signature is 64 bytes r||s");
  const der = new Uint8Array(72);
  const end = writeDerInteger(der, writeDerInteger(der, 2, raw.subarray(0, 32)), raw.subarray(32));
  der[0] = 0x30;
  der[1] = end - 2;
  return der.subarray(0, end);
}
