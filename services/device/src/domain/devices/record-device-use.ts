import type { Clock } from "@countersign/core";
import type { Device } from "./device.ts";
import type { DeviceStore } from "./device-store.ts";

/**
 * Records when a device last signed in, and returns when it was registered; undefined where there is no such
 * device. Idempotent, in any order: the time only moves forward, never beyond now.
 *
 * Writes: the time, in one statement that several calls may share.
 * Crash: the event that caused the call is delivered again.
 */
export function recordDeviceUse({ store, clock }: { store: DeviceStore; clock: Clock }) {
  return (use: Pick<Device, "accountId" | "publicKey"> & { usedAt: Date }): Promise<Date | undefined> => {
    const usedAt = new Date(Math.min(use.usedAt.getTime(), clock.now().getTime()));
    return store.touch(use.accountId, use.publicKey, usedAt);
  };
}
