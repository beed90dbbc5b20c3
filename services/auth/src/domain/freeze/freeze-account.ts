import { AppError, type Clock, uuidv7, type VerifiedToken } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import {
  decideFreeze,
  decideUnfreeze,
  deviceParty,
  type Freeze,
  type FreezeDecision,
  type FreezeFacts,
  type Party,
  RECOVERY_KEY,
  type UnfreezeTimeLocks,
} from "./freeze-rules.ts";

/** A request about an account's freeze. */
export interface FreezeCommand {
  readonly accountId: string;
  readonly by: Party;
  /** The key of the session: a device's identity key, or the recovery key. */
  readonly key: PublicKey;
  readonly now: Date;
  readonly requestId: string;
}

export interface FreezeStore {
  /**
   * Decides on the facts of now, alone among all replicas for this account, and writes the decision with its
   * events in one commit.
   */
  change(command: FreezeCommand, decide: (facts: FreezeFacts) => FreezeDecision): Promise<FreezeDecision>;
  /** The account's freeze as it is now. */
  find(accountId: string, now: Date): Promise<Freeze | undefined>;
}

interface FreezeOptions {
  readonly freezes: Pick<FreezeStore, "change">;
  readonly clock: Clock;
}

export interface UnfreezeOptions extends FreezeOptions {
  readonly timeLocks: UnfreezeTimeLocks;
}

const commandOf = ({ accountId, scope, deviceKey }: VerifiedToken, requestId: string, clock: Clock) => ({
  accountId,
  by: scope === "recover" ? RECOVERY_KEY : deviceParty(deviceKey),
  key: deviceKey,
  now: clock.now(),
  requestId,
});

/**
 * Stops all signing for the token's account, and the enrollment of new devices. Where the account is frozen,
 * the device joins the freeze and cancels what others asked for; see decideFreeze. The same again changes
 * nothing. Errors: TimeLockContested.
 *
 * Writes: the decision with its events and the token state, in one commit.
 * Race: FreezeStore.change takes one request of an account at a time.
 */
export const freezeAccount =
  ({ freezes, clock }: FreezeOptions) =>
  async (token: VerifiedToken, requestId: string): Promise<void> => {
    const command = commandOf(token, requestId, clock);
    const decision = await freezes.change(command, (facts) => decideFreeze(facts, command.by, command.now));
    const detail = "The recovery key has lifted this account's freezes for a month: no device freezes it for two days";
    if (decision.type === "refuse") throw new AppError(decision.reason, { detail });
  };

/**
 * Lifts the freeze, or starts the time lock after which the same party lifts it; see decideUnfreeze. Lifting
 * what is lifted changes nothing. Writes and Race: as freezeAccount.
 * Errors: UnfreezeNotAllowed, AccountUnderReview, TimeLockRequired with `availableAt`.
 */
export const unfreezeAccount =
  ({ freezes, clock, timeLocks }: UnfreezeOptions) =>
  async (token: VerifiedToken, requestId: string): Promise<void> => {
    const command = commandOf(token, requestId, clock);
    const { by, now } = command;
    const id = uuidv7(clock);
    const decision = await freezes.change(command, (facts) => decideUnfreeze(facts, by, { now, id, timeLocks }));
    if (decision.type === "refuse") throw new AppError(decision.reason);
    if (decision.type !== "ask" && decision.type !== "wait") return;
    const { availableAt } = decision.request;
    throw new AppError("TimeLockRequired", {
      retryAfterSeconds: Math.ceil((availableAt.getTime() - now.getTime()) / 1000),
      metadata: { availableAt: availableAt.toISOString() },
    });
  };
