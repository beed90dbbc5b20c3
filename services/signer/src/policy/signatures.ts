import { hash } from "node:crypto";
import {
  type DecodedMessage,
  ExtensionDataError,
  FLOW_KEY_ALGORITHMS,
  payloadMessage,
  readPasskeySignature,
  type TransactionSignature,
} from "@countersign/flow";
import { hexToBytes, type PublicKey } from "@countersign/keys";
import { recoverSigners, verifySignature } from "@countersign/keys/node";
import { type Binding, isServerKeyIndex } from "./account.ts";
import { refusal } from "./refusal.ts";
import type { RequestFacts } from "./request-facts.ts";
import type { Rule } from "./rule.ts";

/**
 * Returns the bytes that a key signs to write this signature: the payload, or what a passkey makes of it;
 * undefined where the extension data is of no known form.
 */
function signedBytes(payload: Uint8Array, { signature, extensionData }: TransactionSignature): Uint8Array | undefined {
  if (extensionData === undefined) return payload;
  try {
    const { authenticatorData, clientDataJSON } = readPasskeySignature(signature, extensionData);
    return Buffer.concat([authenticatorData, hash("sha256", clientDataJSON, "buffer")]);
  } catch (error) {
    if (error instanceof ExtensionDataError) return undefined;
    throw error;
  }
}

/**
 * Returns whether one of the keys has signed the payload, or may have: any holder of a key can write a
 * passkey's assertion as the chain takes it, and a signature of an unknown form counts as one of each key.
 */
export function hasSigned(message: DecodedMessage, keys: readonly PublicKey[]): boolean {
  if (keys.length === 0 || message.payloadSignatures.length === 0) return false;
  const payload = payloadMessage(message);
  return message.payloadSignatures.some((entry) => {
    const signed = signedBytes(payload, entry);
    return signed === undefined || someKeyVerifies(keys, signed, hexToBytes(entry.signature));
  });
}

/** With more keys of a curve, verifying takes longer than recovering those that a signature can be of. */
const MAX_VERIFIED_KEYS = { ES256: 60, ES256K: 10 };

/**
 * Returns whether a signature is one of the keys'. It takes as long however many there are: an account
 * collects blocked keys without a limit, and the signer serves nobody else meanwhile.
 */
function someKeyVerifies(keys: readonly PublicKey[], signed: Uint8Array, signature: Uint8Array): boolean {
  return FLOW_KEY_ALGORITHMS.some((algorithm) => {
    const ofCurve = keys.filter((key) => key.algorithm === algorithm);
    if (ofCurve.length <= MAX_VERIFIED_KEYS[algorithm])
      return ofCurve.some((key) => verifySignature(key, signed, signature));
    const signers = recoverSigners(algorithm, signed, signature);
    return ofCurve.some(({ publicKey }) => signers.includes(publicKey));
  });
}

/**
 * A transaction carries a device's signature and the server key's, or those of two server keys during a
 * rotation. Looking for the blocked keys of an account that has dozens takes milliseconds for each.
 */
const MAX_PAYLOAD_SIGNATURES = 3;

/** Rejects a message with more payload signatures than a transaction of one account can need. */
export const signaturesAreFew: Rule<Pick<RequestFacts, "message">> = ({ message: { payloadSignatures } }) =>
  payloadSignatures.length > MAX_PAYLOAD_SIGNATURES
    ? refusal(
        "UserSignatureInvalid",
        `the payload carries ${payloadSignatures.length} signatures, more than ${MAX_PAYLOAD_SIGNATURES}`,
      )
    : undefined;

/**
 * Returns the payload's signatures that are not the server key's, nor that of one which a rotation has
 * replaced.
 */
export const deviceSignatures = (
  { payloadSignatures }: Pick<DecodedMessage, "payloadSignatures">,
  account: Binding,
): TransactionSignature[] => payloadSignatures.filter(({ keyId }) => !isServerKeyIndex(account, keyId));

/**
 * Rejects a message that a blocked key of the account has signed: the key of a removed device may still be on
 * chain. Envelope signatures come after the signer's own, and no message shows them. The last of the rules,
 * since it takes the longest.
 */
export const noBlockedKeySigned: Rule<Pick<RequestFacts, "message" | "account" | "blockedKeys">> = (facts) =>
  hasSigned({ ...facts.message, payloadSignatures: deviceSignatures(facts.message, facts.account) }, facts.blockedKeys)
    ? refusal("BlockedKey", "a key that is blocked has signed the payload")
    : undefined;
