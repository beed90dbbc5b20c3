import { AppError } from "@countersign/errors";
import type { PublicKey } from "@countersign/keys";
import type { Clock, VerifiedToken } from "@countersign/service-kit";

export interface FreezeStore {
  /** Freezes with its event in one commit; an account that is frozen stays frozen by whoever froze it. */
  freeze(of: Freeze): Promise<void>;
  /** Lifts the freeze with its event, unless `deviceKey` is the one that froze, or the account is held. */
  unfreeze(of: Unfreeze): Promise<"lifted" | "not-frozen" | "same-device" | "held" | { availableAt: Date }>;
}

export interface Freeze {
  readonly accountId: string;
  /** Identity key of the device that asks. */
  readonly deviceKey: PublicKey;
  readonly now: Date;
  readonly requestId: string;
}

/** A recovery key lifts a freeze too, whoever set it, but only when that has lasted for its delay. */
export interface Unfreeze extends Freeze {
  readonly recoveryDelayMs?: number;
}

interface FreezeOptions {
  readonly freezes: FreezeStore;
  readonly clock: Clock;
}

/** Stops all signing for the token's account, and the admission of new devices. Freezing again changes nothing. */
export const freezeAccount =
  ({ freezes, clock }: FreezeOptions) =>
  async ({ accountId, sessionKey: deviceKey }: VerifiedToken, requestId: string): Promise<void> =>
    freezes.freeze({ accountId, deviceKey, now: clock.now(), requestId });

/**
 * Lifts the freeze from another device than the one that froze, or with the recovery key after its delay. Lifting it again changes nothing.
 * Errors: UnfreezeNotAllowed, AccountUnderReview, DelayRequired.
 */
export const unfreezeAccount =
  ({ freezes, clock, recoveryDelayMs }: FreezeOptions & { readonly recoveryDelayMs: number }) =>
  async ({ accountId, sessionKey: deviceKey, scope }: VerifiedToken, requestId: string): Promise<void> => {
    const now = clock.now();
    const by = scope === "recover" ? { recoveryDelayMs } : {};
    const outcome = await freezes.unfreeze({ accountId, deviceKey, now, requestId, ...by });
    if (outcome === "same-device") throw new AppError("UnfreezeNotAllowed");
    if (outcome === "held") throw new AppError("AccountUnderReview");
    if (typeof outcome === "string") return;
    const retryAfterSeconds = Math.ceil((outcome.availableAt.getTime() - now.getTime()) / 1000);
    throw new AppError("DelayRequired", {
      retryAfterSeconds,
      metadata: { availableAt: outcome.availableAt.toISOString() },
    });
  };
