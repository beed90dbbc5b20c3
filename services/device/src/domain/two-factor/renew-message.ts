import { isAppError, uuidv4 } from "@countersign/core";
import { readTwoFactor } from "./find-two-factor.ts";
import type { KeyAddition, TwoFactorPorts } from "./ports.ts";
import type { TwoFactor } from "./two-factor.ts";
import { guardHolds, renewing } from "./two-factor-state.ts";

export const keyAdditionOf = ({ accountId, chainName, userKey }: TwoFactor): KeyAddition => ({
  accountId,
  chainName,
  userKey: userKey.accountKey,
});

/** A message that the chain takes now; the present one where nobody can say. */
export async function currentMessage({ keyAdditions }: TwoFactorPorts, request: TwoFactor): Promise<Uint8Array> {
  try {
    return await keyAdditions.prepare(keyAdditionOf(request), request.message);
  } catch (error) {
    // An old message that can be shown is better than none: whether it still runs is decided when it is submitted.
    if (isAppError(error)) return request.message;
    throw error;
  }
}

/** Gives the request with a message that the chain takes, under a new request id if that is another one than before. */
export async function renewMessage(ports: TwoFactorPorts, request: TwoFactor, requestId: string): Promise<TwoFactor> {
  const { requests, clock } = ports;
  const renewable = renewing(request, { requestId: uuidv4(), message: request.message }, clock.now());
  if (!guardHolds(request, renewable.when)) return request;
  const message = await currentMessage(ports, request);
  if (Buffer.compare(message, request.message) === 0) return request;

  const now = clock.now();
  const step = renewing(request, { requestId: uuidv4(), message }, now);
  // Whoever renewed it in the meantime, or decided it, was first.
  return (
    (await requests.take(request.id, step, { occurredAt: now, requestId })) ??
    (await readTwoFactor(ports, request.accountId, request.id))
  );
}
