import { AppError } from "@countersign/errors";
import type { PublicKey } from "@countersign/keys";
import type { Clock, VerifiedToken } from "@countersign/service-kit";

export interface FreezeStore {
  /** Freezes with its event in one commit; an account that is frozen stays frozen by whoever froze it. */
  freeze(of: Freeze): Promise<void>;
  /** Lifts the freeze with its event, unless `deviceKey` is the one that froze. */
  unfreeze(of: Freeze): Promise<"lifted" | "not-frozen" | "same-device">;
}

export interface Freeze {
  readonly accountId: string;
  /** Identity key of the device that asks. */
  readonly deviceKey: PublicKey;
  readonly now: Date;
  readonly requestId: string;
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

/** Lifts the freeze from another device than the one that froze. Lifting it again changes nothing. Errors: UnfreezeNotAllowed. */
export const unfreezeAccount =
  ({ freezes, clock }: FreezeOptions) =>
  async ({ accountId, sessionKey: deviceKey }: VerifiedToken, requestId: string): Promise<void> => {
    const outcome = await freezes.unfreeze({ accountId, deviceKey, now: clock.now(), requestId });
    if (outcome === "same-device") throw new AppError("UnfreezeNotAllowed");
  };
