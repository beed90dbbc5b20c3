import { isAppError, uuidv4 } from "@countersign/core";
import { readTwoFactor } from "./find-two-factor.ts";
import type { TwoFactorPorts } from "./ports.ts";
import { keyAdditionOf, type TwoFactor } from "./two-factor.ts";
import { guardHolds, renewing } from "./two-factor-state.ts";

/**
 * Returns a message that the chain takes now, or the present one where the account service does not answer.
 */
export async function currentMessage({ keyAdditions }: TwoFactorPorts, request: TwoFactor): Promise<Uint8Array> {
  try {
    return await keyAdditions.prepare(keyAdditionOf(request), request.message);
  } catch (error) {
    // An old message can still be shown; whether it runs is decided when it is submitted.
    if (isAppError(error)) return request.message;
    throw error;
  }
}

/** Returns the request with a message that the chain takes now; a new message gets a new message id. */
export async function renewMessage(ports: TwoFactorPorts, request: TwoFactor, requestId: string): Promise<TwoFactor> {
  const { requests, clock } = ports;
  const renewable = renewing(request, { messageId: uuidv4(), message: request.message }, clock.now());
  if (!guardHolds(request, renewable.when)) return request;
  const message = await currentMessage(ports, request);
  if (Buffer.compare(message, request.message) === 0) return request;

  const now = clock.now();
  const step = renewing(request, { messageId: uuidv4(), message }, now);
  // A concurrent renewal or decision came first where the step is not taken.
  return (
    (await requests.take(request.id, step, { occurredAt: now, requestId })) ??
    (await readTwoFactor(ports, request.accountId, request.id))
  );
}
