import { AppError } from "@countersign/errors";
import { samePublicKey } from "@countersign/keys";
import type { Clock } from "@countersign/service-kit";
import type { Device, Session } from "./device.ts";
import type { DeviceStore } from "./ports.ts";

export interface RemoveDevice {
  session: Session;
  /** Identity key of the device to remove, canonical hex. */
  publicKey: string;
  requestId: string;
}

/** Until this age, in milliseconds, a device cannot remove older ones: whoever stole a login should not lock the owner out. */
export const YOUNG_FOR_MS = 24 * 60 * 60 * 1000;

/**
 * Takes a device from the session's account and gives it; a repeated call gives the removed device again.
 * Errors: DeviceNotFound; DeviceTooYoung; SessionEnded where the asking device itself is not the account's any more.
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

      const removed: Device = { ...device, removedAt: now };
      await devices.update(removed);
      await devices.publish({ type: "device-removed", device: removed, occurredAt: now, requestId: command.requestId });
      return removed;
    });
}
