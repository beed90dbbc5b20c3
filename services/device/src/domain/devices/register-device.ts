import { AppError, type Clock, type DeviceAttributes } from "@countersign/core";
import { type PublicKey, samePublicKey } from "@countersign/keys";
import type { Device } from "./device.ts";
import type { DeviceStore } from "./device-store.ts";

interface RegisterDevice {
  accountId: string;
  /** Minted by the caller, so that its retries make one device. */
  deviceId: string;
  publicKey: PublicKey;
  attributes: DeviceAttributes;
  requestId: string;
}

export interface RegisterDeviceOptions {
  store: DeviceStore;
  clock: Clock;
  /** The most live devices of one account. */
  maxDevices: number;
}

/** Returns when an id was made, a UUID of version 7. */
const timeOf = (id: string): Date => new Date(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16));

/**
 * Registers a device for an account; for a key that the account has already, returns that device unchanged.
 * So it does for one that was removed after this registration began, by the time in its id: a sign-up that
 * was under way does not bring it back. One that is enrolled again later is a new device.
 * Errors: TooManyDevices; DeviceConflict where the id is another device's.
 *
 * Writes: the device and its event, in one commit; for the account's first device, in one statement.
 * Crash: nothing or all of it is written; the caller repeats the call.
 * Race: one call of an account at a time, over all replicas.
 */
export function registerDevice({ store, clock, maxDevices }: RegisterDeviceOptions) {
  return async (command: RegisterDevice): Promise<Device> => {
    const now = clock.now();
    const device: Device = {
      id: command.deviceId,
      accountId: command.accountId,
      publicKey: command.publicKey,
      attributes: command.attributes,
      createdAt: now,
      lastUsedAt: now,
      removedAt: null,
    };
    const registered = { type: "device-registered", device, occurredAt: now, requestId: command.requestId } as const;
    if (await store.insertFirst(registered)) return device;
    return store.withAccount(command.accountId, async (devices) => {
      const live = await devices.listLive();
      const key = command.publicKey.publicKey;
      const removed = await devices.findRemoved(key);
      const overtaken = removed?.removedAt && timeOf(command.deviceId) <= removed.removedAt ? removed : undefined;
      const present = live.find(({ publicKey }) => publicKey.publicKey === key) ?? overtaken;
      if (present) {
        if (!samePublicKey(present.publicKey, command.publicKey)) throw new AppError("DeviceConflict");
        return present;
      }
      if (live.length >= maxDevices) throw new AppError("TooManyDevices");
      if (!(await devices.insert(registered))) throw new AppError("DeviceConflict");
      return device;
    });
  };
}
