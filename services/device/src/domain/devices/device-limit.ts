import { AppError } from "@countersign/core";
import { type PublicKey, samePublicKey } from "@countersign/keys";
import type { Device } from "./device.ts";

/**
 * Devices that may be registered beyond the limit: those that the recovery key brings back, one a day, until
 * the owner removes a thief's.
 */
export const RECOVERED_DEVICES = 10;

/**
 * Requires that the account can have this device besides its live ones, or has it already. Checked when it is
 * requested and when it is approved, so that no key is put on chain for a device that cannot be registered.
 * Errors: TooManyDevices.
 */
export function requireBelowDeviceLimit(live: readonly Device[], deviceKey: PublicKey, maxDevices: number): void {
  if (live.length < maxDevices || live.some(({ publicKey }) => samePublicKey(publicKey, deviceKey))) return;
  throw new AppError("TooManyDevices");
}
