import { AppError } from "@countersign/errors";
import { samePublicKey } from "@countersign/keys";
import type { Session } from "./device.ts";
import type { DeviceStore } from "./ports.ts";

/** A change that waits, or that was cancelled. */
export interface Delay {
  id: string;
  /** The template. */
  operation: string;
  chainName: string;
  startedAt: Date;
  availableAt: Date;
  cancelledAt: Date | undefined;
}

/** The signer's time locks. */
export interface Delays {
  list(accountId: string, requestId: string): Promise<Delay[]>;
  /** Errors: DelayNotFound, DeviceTooYoung where the device is younger than the delay, DelayContested. */
  cancel(delay: { accountId: string; id: string; deviceCreatedAt: Date }, requestId: string): Promise<void>;
}

export interface CancelDelay {
  session: Session;
  id: string;
  requestId: string;
}

/**
 * Cancels what waits, from a registered device that was there before. Errors: DelayNotFound, DeviceTooYoung,
 * DelayContested, SessionEnded.
 */
export function cancelDelay({ store, delays }: { store: Pick<DeviceStore, "listLive">; delays: Delays }) {
  return async ({ session: { accountId, sessionKey }, id, requestId }: CancelDelay): Promise<void> => {
    const device = (await store.listLive(accountId)).find(({ publicKey }) => samePublicKey(publicKey, sessionKey));
    if (!device) throw new AppError("SessionEnded");
    await delays.cancel({ accountId, id, deviceCreatedAt: device.createdAt }, requestId);
  };
}
