import type { Clock } from "@countersign/core";
import { type PublicKey, samePublicKey } from "@countersign/keys";
import type { DeviceStore } from "./device-store.ts";

interface RetireDevice {
  accountId: string;
  /** Identity key of the device whose last key was revoked on chain. */
  deviceKey: PublicKey;
  /** A device that was registered later stays. */
  revokedAt: Date;
  requestId: string;
}

/**
 * Removes a device whose last key was revoked, so that it is no longer notified. Idempotent.
 *
 * Writes: the removal and its event, in one commit.
 * Crash: nothing or all of it is written; the event that caused the call is delivered again.
 * Race: one call of an account at a time, over all replicas.
 */
export function retireDevice({ store, clock }: { store: DeviceStore; clock: Clock }) {
  return ({ accountId, deviceKey, revokedAt, requestId }: RetireDevice): Promise<void> =>
    store.withAccount(accountId, async (devices) => {
      const device = (await devices.listLive()).find(({ publicKey }) => samePublicKey(publicKey, deviceKey));
      if (!device || device.createdAt > revokedAt) return;
      const removedAt = clock.now();
      const removed = { ...device, removedAt };
      await devices.update({ type: "device-removed", device: removed, occurredAt: removedAt, requestId });
    });
}
