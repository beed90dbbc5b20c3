import type { Clock } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import type { DeviceStore } from "./device-store.ts";

interface RecordDeviceUse {
  accountId: string;
  /** Identity key of the device that signed in. */
  publicKey: PublicKey;
  usedAt: Date;
}

/**
 * Records when a device last signed in, and returns when it was registered; undefined where there is no such
 * device. Idempotent, in any order: the time only moves forward, never beyond now.
 *
 * Writes: the time, in one statement that several calls may share.
 * Crash: the event that caused the call is delivered again.
 */
export function recordDeviceUse({ store, clock }: { store: DeviceStore; clock: Clock }) {
  return (command: RecordDeviceUse): Promise<Date | undefined> => {
    const usedAt = new Date(Math.min(command.usedAt.getTime(), clock.now().getTime()));
    return store.touch(command.accountId, command.publicKey, usedAt);
  };
}
