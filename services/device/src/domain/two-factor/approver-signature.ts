import { passkeySignature } from "@countersign/flow";
import { verifyUserSignature } from "@countersign/flow/node";
import {
  type Assertion,
  bytesToHex,
  type PasskeySettings,
  type PublicKey,
  parseSignature,
  SignatureError,
} from "@countersign/keys";
import type { UserSignature } from "./ports.ts";

/**
 * A signature (raw or DER) by the approving device's account key; of a passkey with the rest of its
 * assertion.
 */
export interface SignedApproval {
  signature: Uint8Array;
  passkey?: Omit<Assertion, "signature">;
}

/** The approving session's key and app. */
export interface Approver {
  accountKey: PublicKey;
  appId: string;
}

/**
 * Returns the signature in its form on chain if it is the approver's over `message` (ES256, ES256K; SHA-256;
 * a passkey's assertion for one of the app's relying parties); otherwise undefined.
 */
export function approverSignature(
  passkeys: PasskeySettings,
  message: Uint8Array,
  { accountKey, appId }: Approver,
  approval: SignedApproval,
): UserSignature | undefined {
  const signature = toChainForm(approval);
  if (signature === undefined) return undefined;
  return verifyUserSignature(accountKey, message, signature, passkeys.relyingPartiesOf(appId)) ? signature : undefined;
}

/** Returns undefined for bytes that are not a signature. */
function toChainForm({ signature, passkey }: SignedApproval): UserSignature | undefined {
  try {
    if (passkey) return passkeySignature({ ...passkey, signature });
    return { signature: bytesToHex(parseSignature(signature)) };
  } catch (error) {
    if (error instanceof SignatureError) return undefined;
    throw error;
  }
}
