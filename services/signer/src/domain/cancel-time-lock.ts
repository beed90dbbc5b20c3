import { AppError, type Clock } from "@countersign/core";
import type { TimeLock, TimeLockPolicy } from "../policy/time-lock.ts";
import type { TimeLockStore } from "./ports.ts";

export interface CancelTimeLockCommand {
  readonly accountId: string;
  readonly id: string;
  /** When the device that cancels came to the account. */
  readonly deviceCreatedAt: Date;
  readonly requestId: string;
}

export interface CancelTimeLockPorts {
  readonly timeLocks: Pick<TimeLockStore, "list" | "cancel">;
  readonly timeLockPolicy: Pick<TimeLockPolicy, "contestMs">;
  readonly clock: Clock;
}

/**
 * Cancels a time lock from a device that was on the account before it began. Cancelled again, nothing
 * changes. Enrollment by a recovery key can be cancelled for `contestMs` and no longer: a thief's old phone
 * must not prevent it for good. Errors: TimeLockNotFound, DeviceTooYoung, TimeLockContested.
 *
 * Writes: the cancellation with its event, in one commit.
 * Race: the first of two cancellations writes; both return the cancelled time lock.
 */
export const cancelTimeLock =
  ({ timeLocks, timeLockPolicy, clock }: CancelTimeLockPorts) =>
  async ({ accountId, id, deviceCreatedAt, requestId }: CancelTimeLockCommand): Promise<TimeLock> => {
    const now = clock.now();
    const lock = (await timeLocks.list(accountId, now)).find((each) => each.id === id);
    if (!lock) throw new AppError("TimeLockNotFound");
    if (deviceCreatedAt >= lock.startedAt) {
      const detail = "The device came to the account after the time lock began: use an older one";
      throw new AppError("DeviceTooYoung", { detail });
    }
    const contestedMs = now.getTime() - lock.contestedSince.getTime();
    if (lock.operation === "add-user-key" && contestedMs >= timeLockPolicy.contestMs)
      throw new AppError("TimeLockContested");
    const cancelled = await timeLocks.cancel(accountId, id, now, requestId);
    if (!cancelled) throw new AppError("TimeLockNotFound");
    return cancelled;
  };
