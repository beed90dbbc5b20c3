import type { PublicKey } from "@countersign/keys";
import type { Clock } from "@countersign/service-kit";

/** A device of an account whose access ends. */
export interface DeviceCutOff {
  readonly accountId: string;
  /** The identity key of the device. */
  readonly deviceKey: PublicKey;
  /** Sessions that began later are not meant. */
  readonly removedAt: Date;
  readonly requestId: string;
}

export interface AccessStore {
  /** Ends the device's sessions and blocks its keys, for sign-in and for co-signing, in one commit. Doing it again changes nothing. */
  cutOff(device: DeviceCutOff): Promise<void>;
}

export interface RemoveDeviceOptions<Call> {
  readonly access: AccessStore;
  readonly clock: Clock;
  /** device.v1.Devices/RemoveDevice: decides who may, and takes the device from the list. Errors: DeviceNotFound, DeviceTooYoung. */
  removeFromList(publicKey: Uint8Array, call: Call): Promise<PublicKey>;
}

/**
 * Removes a device of the caller's account. The list goes first, because it decides who may; should this process die in between, the event of the removal
 * does the rest (subscribers/device-removed.ts), and so does a repeated request.
 */
export const removeDevice =
  <Call extends { requestId: string }>({ access, clock, removeFromList }: RemoveDeviceOptions<Call>) =>
  async (accountId: string, publicKey: Uint8Array, call: Call): Promise<PublicKey> => {
    const deviceKey = await removeFromList(publicKey, call);
    await access.cutOff({ accountId, deviceKey, removedAt: clock.now(), requestId: call.requestId });
    return deviceKey;
  };
