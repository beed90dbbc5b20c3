import { AppError, type Clock } from "@countersign/core";
import { samePublicKey } from "@countersign/keys";
import type { Device, Session } from "./device.ts";
import type { DeviceStore } from "./device-store.ts";
import { type ChainAccess, isLastDevice } from "./last-device.ts";

export interface RemoveDevice {
  session: Session;
  /** Identity key of the device to remove, canonical hex. */
  publicKey: string;
  /** What signs in to the account; needed where a device removes itself, otherwise it may be undefined. */
  access: readonly ChainAccess[] | undefined;
  requestId: string;
}

/** Until this age, in milliseconds, a device cannot remove older ones: whoever stole a login should not lock the owner out. */
export const YOUNG_FOR_MS = 24 * 60 * 60 * 1000;

/**
 * Takes a device from the session's account and returns it; a repeated call returns the removed device again.
 * A device that removes itself must leave somebody who can sign in; one that removes another stays itself.
 * Errors: DeviceNotFound; DeviceTooYoung; LastDevice; Unavailable without `access` where it is needed;
 * SessionEnded where the asking device itself is not the account's any more.
 */
export function removeDevice({ store, clock }: { store: DeviceStore; clock: Clock }) {
  return (command: RemoveDevice): Promise<Device> =>
    store.withAccount(command.session.accountId, async (devices) => {
      const device = await devices.findLive(command.publicKey);
      if (!device) {
        const removed = await devices.findRemoved(command.publicKey);
        if (!removed) throw new AppError("DeviceNotFound");
        return removed;
      }

      const now = clock.now();
      const asker = await devices.findLive(command.session.sessionKey.publicKey);
      if (!asker || !samePublicKey(asker.publicKey, command.session.sessionKey)) throw new AppError("SessionEnded");
      const young = now.getTime() - asker.createdAt.getTime() < YOUNG_FOR_MS;
      if (young && device.createdAt < asker.createdAt) throw new AppError("DeviceTooYoung");
      if (device.id === asker.id) {
        if (!command.access) throw new AppError("Unavailable");
        const live = (await devices.listLive()).map(({ publicKey }) => publicKey);
        if (isLastDevice(device.publicKey, live, command.access)) throw new AppError("LastDevice");
      }

      const removed: Device = { ...device, removedAt: now };
      await devices.update(removed);
      await devices.publish({ type: "device-removed", device: removed, occurredAt: now, requestId: command.requestId });
      return removed;
    });
}
