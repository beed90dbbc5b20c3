import { AppError } from "@countersign/core";
import { type PublicKey, samePublicKey } from "@countersign/keys";
import type { Device } from "./device.ts";

/**
 * Requires that the account can have this device besides its live ones, or has it already. Checked when it is
 * requested and when it is approved, so that no key is put on chain for a device that cannot be registered.
 * Errors: TooManyDevices.
 */
export function requireBelowDeviceLimit(live: readonly Device[], deviceKey: PublicKey, maxDevices: number): void {
  if (live.length < maxDevices || live.some(({ publicKey }) => samePublicKey(publicKey, deviceKey))) return;
  throw new AppError("TooManyDevices");
}
