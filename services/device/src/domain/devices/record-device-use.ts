import type { Clock } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import type { DeviceStore } from "./device-store.ts";

export interface NoteDeviceUsed {
  accountId: string;
  /** Identity key of the device that signed in. */
  publicKey: PublicKey;
  usedAt: Date;
}

/** Remembers when a device last signed in. May be told twice and late: the time only moves forward, and never beyond now. */
export function noteDeviceUsed({ store, clock }: { store: DeviceStore; clock: Clock }) {
  return (command: NoteDeviceUsed): Promise<void> => {
    const usedAt = new Date(Math.min(command.usedAt.getTime(), clock.now().getTime()));
    return store.touch(command.accountId, command.publicKey, usedAt);
  };
}
