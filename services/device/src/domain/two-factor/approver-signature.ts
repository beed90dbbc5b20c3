import { AppError } from "@countersign/core";
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
import type { TwoFactorPorts, UserSignature } from "./ports.ts";
import type { TwoFactor } from "./two-factor.ts";
import { wrongApproval } from "./wrong-approvals.ts";

/** What the approving device's account key made: a signature (raw or DER), for a passkey with the rest of its assertion. */
export interface SignedApproval {
  signature: Uint8Array;
  passkey?: Omit<Assertion, "signature">;
}

/** The approving session's key and app. */
export interface Approver {
  accountKey: PublicKey;
  appId: string;
}

/** Earlier messages that a signature is tried on; a device that is further behind has to read again anyway. */
const MAX_EARLIER_MESSAGES = 10;

/**
 * The signature is the approver's account key's over the current message (ES256, ES256K; SHA-256; a passkey's assertion is for one of the
 * app's relying parties). Gives it as it goes on chain. Errors: MessageRenewed where it is over an earlier message; InvalidSignature, which
 * counts; RateLimited.
 */
export async function requireApproverSignature(
  ports: Pick<TwoFactorPorts, "requests" | "clock"> & { passkeys: PasskeySettings },
  request: TwoFactor,
  { accountKey, appId }: Approver,
  approval: SignedApproval,
): Promise<UserSignature> {
  if (accountKey.algorithm === "EdDSA") throw new AppError("UnsupportedKey");
  const approver = { accountKey, appId };
  const signed = approverSignature(ports.passkeys, request.message, approver, approval);
  if (signed !== undefined) return signed;
  const earlier = await ports.requests.earlierMessages(request, MAX_EARLIER_MESSAGES);
  const isOver = ({ message }: { message: Uint8Array }) =>
    approverSignature(ports.passkeys, message, approver, approval) !== undefined;
  if (earlier.some(isOver)) throw new AppError("MessageRenewed");
  throw await wrongApproval(ports, request, new AppError("InvalidSignature"));
}

/** Returns the signature in its form on chain if it is the approver's over `message`; otherwise undefined. */
export function approverSignature(
  passkeys: PasskeySettings,
  message: Uint8Array,
  { accountKey, appId }: Approver,
  approval: SignedApproval,
): UserSignature | undefined {
  const signed = onChain(approval);
  if (signed === undefined) return undefined;
  return verifyUserSignature(accountKey, message, signed, passkeys.relyingPartiesOf(appId)) ? signed : undefined;
}

/** Undefined where it is no signature at all. */
function onChain({ signature, passkey }: SignedApproval): UserSignature | undefined {
  try {
    if (passkey) return passkeySignature({ ...passkey, signature });
    return { signature: bytesToHex(parseSignature(signature)) };
  } catch (error) {
    if (error instanceof SignatureError) return undefined;
    throw error;
  }
}
