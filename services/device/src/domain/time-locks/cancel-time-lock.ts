import { AppError } from "@countersign/core";
import { samePublicKey } from "@countersign/keys";
import type { Session } from "../devices/device.ts";
import type { DeviceStore } from "../devices/device-store.ts";

/** A change of keys that is signed from `availableAt` on. */
export interface TimeLock {
  id: string;
  /** The template. */
  operation: string;
  chainName: string;
  startedAt: Date;
  availableAt: Date;
  cancelledAt: Date | undefined;
}

/** The signer's time locks. */
export interface TimeLocks {
  list(accountId: string, requestId: string): Promise<TimeLock[]>;
  /**
   * Errors: TimeLockNotFound, DeviceTooYoung where the device is younger than the lock, TimeLockContested.
   */
  cancel(timeLock: { accountId: string; id: string; deviceCreatedAt: Date }, requestId: string): Promise<void>;
}

interface CancelTimeLock {
  session: Session;
  id: string;
  requestId: string;
}

/**
 * Cancels a time lock from a registered device that was on the account before it started.
 * Errors: TimeLockNotFound, DeviceTooYoung, TimeLockContested, SessionEnded.
 *
 * Writes: nothing here; the signer cancels the lock.
 */
export function cancelTimeLock({ store, timeLocks }: { store: Pick<DeviceStore, "listLive">; timeLocks: TimeLocks }) {
  return async ({ session: { accountId, deviceKey }, id, requestId }: CancelTimeLock): Promise<void> => {
    const device = (await store.listLive(accountId)).find(({ publicKey }) => samePublicKey(publicKey, deviceKey));
    if (!device) throw new AppError("SessionEnded");
    await timeLocks.cancel({ accountId, id, deviceCreatedAt: device.createdAt }, requestId);
  };
}
