import { type PublicKey, samePublicKey } from "@countersign/keys";
import type { Device } from "../devices/device.ts";
import type { DeviceStore } from "../devices/device-store.ts";
import type { TwoFactor } from "./two-factor.ts";

/** A request as one device sees it. */
export interface TwoFactorView {
  request: TwoFactor;
  /** null where it is no longer a device of the account. */
  destDevice: Device | null;
  /** The push token of each side where it is the viewer's own device, otherwise "". */
  pushTokens: { src: string; dest: string };
}

/**
 * Returns a request, with the account's live devices, for the identity key `viewer`; undefined: for no
 * device.
 */
export function viewIn(live: readonly Device[], request: TwoFactor, viewer: PublicKey | undefined): TwoFactorView {
  const destDevice = live.find(({ id }) => id === request.destDeviceId) ?? null;
  const isViewer = (key: PublicKey) => viewer !== undefined && samePublicKey(key, viewer);
  const { deviceKey, device: sentAttributes } = request.userKey;
  // Once the new device is registered, its push token may be newer than the one that it sent.
  const source = live.find(({ publicKey }) => samePublicKey(publicKey, deviceKey))?.attributes ?? sentAttributes;
  return {
    request,
    destDevice,
    pushTokens: {
      src: isViewer(deviceKey) ? source.pushToken : "",
      dest: destDevice !== null && isViewer(destDevice.publicKey) ? destDevice.attributes.pushToken : "",
    },
  };
}

/** Returns a request as the device with the identity key `viewer` sees it. */
export async function viewTwoFactor(
  { devices }: { devices: DeviceStore },
  request: TwoFactor,
  viewer?: PublicKey,
): Promise<TwoFactorView> {
  return viewIn(await devices.listLive(request.accountId), request, viewer);
}
