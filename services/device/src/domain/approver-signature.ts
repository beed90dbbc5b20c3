import { AppError } from "@countersign/errors";
import type { PublicKey } from "@countersign/keys";
import { verifySignature } from "@countersign/keys/node";
import type { TwoFactor } from "./two-factor.ts";
import type { TwoFactorPorts } from "./two-factor-ports.ts";
import { wrongApproval } from "./wrong-approvals.ts";

/** Earlier messages that a signature is tried on; a device that is further behind has to read again anyway. */
const EARLIER = 10;

/**
 * The signature is the approver's account key's over the current message (ES256, ES256K; SHA-256).
 * Errors: MessageRenewed where it is over an earlier one; InvalidSignature, which counts; RateLimited.
 */
export async function requireApproverSignature(
  ports: Pick<TwoFactorPorts, "requests" | "clock">,
  request: TwoFactor,
  accountKey: PublicKey,
  signature: Uint8Array,
): Promise<void> {
  if (accountKey.algorithm === "EdDSA") throw new AppError("UnsupportedKey");
  if (verifySignature(accountKey, request.message, signature)) return;
  const earlier = await ports.requests.earlierMessages(request, EARLIER);
  if (earlier.some(({ message }) => verifySignature(accountKey, message, signature))) {
    throw new AppError("MessageRenewed");
  }
  throw await wrongApproval(ports, request, new AppError("InvalidSignature"));
}
