import { AppError } from "@countersign/core";
import { type PublicKey, samePublicKey } from "@countersign/keys";
import type { Device } from "./device.ts";

/**
 * There is room for a new device beside an account's live ones, or it is one of them. Said when it asks and when it is approved, so that no key is put on chain
 * for a device that could not be registered. Errors: TooManyDevices.
 */
export function requireRoom(live: readonly Device[], deviceKey: PublicKey, maxDevices: number): void {
  if (live.length < maxDevices || live.some(({ publicKey }) => samePublicKey(publicKey, deviceKey))) return;
  throw new AppError("TooManyDevices");
}
