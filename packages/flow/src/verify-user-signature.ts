import { hexToBytes, PasskeyError, type PublicKey, type RelyingParty } from "@countersign/keys";
import { verifyAssertion, verifySignature } from "@countersign/keys/node";
import { ExtensionDataError, readPasskeySignature } from "./codec/passkey-signature.ts";
import type { TransactionSignature } from "./codec/transaction.ts";

/**
 * Returns whether a signature in a transaction is a user key's over `message` (tag and RLP): a plain one over
 * SHA2-256, or a passkey's. A passkey must meet more than the chain requires: origin and RP id of one of
 * `relyingParties`, user present and verified.
 * @example
 * const { publicKey, privateKey } = generateKeyPair();
 * const message = payloadMessage(transaction);
 * const signature = Buffer.from(signMessage(privateKey, message)).toString("hex");
 * verifyUserSignature(publicKey, message, { signature }, relyingParties); // => true
 */
export function verifyUserSignature(
  key: PublicKey,
  message: Uint8Array,
  { signature, extensionData }: Pick<TransactionSignature, "signature" | "extensionData">,
  relyingParties: readonly RelyingParty[],
): boolean {
  if (key.algorithm === "EdDSA") return false; // no key of the chain
  if (extensionData === undefined) return verifySignature(key, message, hexToBytes(signature));
  try {
    verifyAssertion(key, readPasskeySignature(signature, extensionData), { transaction: message }, relyingParties);
    return true;
  } catch (error) {
    if (error instanceof PasskeyError || error instanceof ExtensionDataError) return false;
    throw error;
  }
}
