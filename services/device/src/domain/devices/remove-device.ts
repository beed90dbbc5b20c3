import { AppError, type Clock, DAY_MS } from "@countersign/core";
import { type PublicKey, samePublicKey } from "@countersign/keys";
import type { Device, Session } from "./device.ts";
import type { DeviceStore } from "./device-store.ts";

/** The keys that sign in to the account on one chain, as the key service reports them. */
export interface ChainAccess {
  /** Identity keys of devices that hold an active key. */
  deviceKeys: readonly PublicKey[];
  /** A reported recovery key is active on chain. */
  recoveryKey: boolean;
}

interface RemoveDevice {
  session: Session;
  /** Identity key of the device to remove, canonical hex. */
  publicKey: string;
  /** The account's keys for signing in; required where a device removes itself. */
  access: readonly ChainAccess[] | undefined;
  requestId: string;
}

/** Up to this age a device cannot remove older ones, so that a stolen login does not lock the owner out. */
export const YOUNG_DEVICE_MS = DAY_MS;

/**
 * Removes a device from the session's account and returns it; a repeated call returns the removed device
 * again.
 * A device that removes itself must leave a key that can sign in; one that removes another stays itself.
 * Errors: DeviceNotFound; DeviceTooYoung; LastDevice; Unavailable without `access` where it is needed;
 * SessionEnded where the session's own device is no longer the account's.
 *
 * Writes: the removal and its event, in one commit.
 * Crash: nothing or all of it is written; a repeated call returns the removed device.
 * Race: one call of an account at a time, over all replicas: two devices cannot remove each other.
 */
export function removeDevice({ store, clock }: { store: DeviceStore; clock: Clock }) {
  return (command: RemoveDevice): Promise<Device> =>
    store.withAccount(command.session.accountId, async (devices) => {
      const live = await devices.listLive();
      const device = live.find(({ publicKey }) => publicKey.publicKey === command.publicKey);
      if (!device) {
        const removed = await devices.findRemoved(command.publicKey);
        if (!removed) throw new AppError("DeviceNotFound");
        return removed;
      }

      const now = clock.now();
      const caller = live.find(({ publicKey }) => samePublicKey(publicKey, command.session.deviceKey));
      if (!caller) throw new AppError("SessionEnded");
      const isYoung = now.getTime() - caller.createdAt.getTime() < YOUNG_DEVICE_MS;
      if (isYoung && device.createdAt < caller.createdAt) throw new AppError("DeviceTooYoung");
      if (device.id === caller.id) {
        if (!command.access) throw new AppError("Unavailable");
        const keys = live.map(({ publicKey }) => publicKey);
        if (isLastDevice(device.publicKey, keys, command.access)) throw new AppError("LastDevice");
      }

      const removed: Device = { ...device, removedAt: now };
      await devices.update({ type: "device-removed", device: removed, occurredAt: now, requestId: command.requestId });
      return removed;
    });
}

/**
 * Returns whether a chain's account would be lost with the device: some key signs in there now, and none
 * without it.
 */
export function isLastDevice(device: PublicKey, live: readonly PublicKey[], access: readonly ChainAccess[]): boolean {
  const others = live.filter((key) => !samePublicKey(key, device));
  return access.some((chain) => canSignIn(chain, live) && !canSignIn(chain, others));
}

/** Returns whether a key signs in on the chain if the account has these devices only. */
const canSignIn = ({ deviceKeys, recoveryKey }: ChainAccess, devices: readonly PublicKey[]): boolean =>
  recoveryKey || deviceKeys.some((key) => devices.some((device) => samePublicKey(device, key)));
