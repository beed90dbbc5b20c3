import { type Assertion, bytesToHex, hexToBytes, parseSignature } from "@countersign/keys";
import { decodeRlp, encodeRlp, RlpError, type RlpItem } from "./rlp.ts";
import type { TransactionSignature } from "./transaction.ts";

/**
 * Thrown for extension data of another scheme than passkeys', or of none.
 * @example
 * const passkeyOf = ({ signature, extensionData = "" }: TransactionSignature) => {
 *   try {
 *     return readPasskeySignature(signature, extensionData);
 *   } catch (error) {
 *     if (error instanceof ExtensionDataError) return undefined; // of a plain key
 *     throw error;
 *   }
 * };
 */
export class ExtensionDataError extends Error {
  override readonly name = "ExtensionDataError";
}

/** FLIP 264: the first byte names the scheme, and this one is WebAuthn's. */
const WEBAUTHN_SCHEME = 1;

/**
 * Encodes a passkey's assertion over a message as a transaction's signature (FLIP 264): raw r||s, and as
 * extension data the scheme byte with RLP([authenticatorData, clientDataJSON]). Throws SignatureError.
 * @example const { signature, extensionData } = passkeySignature(assertion);
 */
export function passkeySignature(
  assertion: Assertion,
): Required<Pick<TransactionSignature, "signature" | "extensionData">> {
  const { authenticatorData, clientDataJSON, signature } = assertion;
  return {
    signature: bytesToHex(parseSignature(signature)),
    extensionData: bytesToHex(encodeRlp([authenticatorData, clientDataJSON], Uint8Array.of(WEBAUTHN_SCHEME))),
  };
}

/**
 * Returns the assertion that a transaction's signature carries, unchecked. Throws ExtensionDataError.
 * @example
 * const { signature, extensionData } = passkeySignature(assertion);
 * readPasskeySignature(signature, extensionData).signature.length; // => 64
 */
export function readPasskeySignature(signature: string, extensionData: string): Assertion {
  const extension = hexToBytes(extensionData);
  if (extension[0] !== WEBAUTHN_SCHEME) throw new ExtensionDataError("not the scheme of passkeys");
  const [authenticatorData, clientDataJSON, ...others] = list(extension.subarray(1));
  if (!(authenticatorData instanceof Uint8Array) || !(clientDataJSON instanceof Uint8Array) || others.length > 0) {
    throw new ExtensionDataError("not authenticator data and client data");
  }
  return { authenticatorData, clientDataJSON, signature: hexToBytes(signature) };
}

function list(bytes: Uint8Array): readonly RlpItem[] {
  try {
    const items = decodeRlp(bytes);
    if (!(items instanceof Uint8Array)) return items;
  } catch (error) {
    if (!(error instanceof RlpError)) throw error;
  }
  throw new ExtensionDataError("not a list in canonical RLP");
}
