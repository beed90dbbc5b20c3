import type { Device } from "./device.ts";
import type { DeviceStore } from "./ports.ts";
import type { TwoFactor } from "./two-factor.ts";

/** A request as it is shown. */
export interface TwoFactorView {
  request: TwoFactor;
  /** null where the account has no such device any more. */
  destDevice: Device | null;
}

/** Requests of one account with the devices that they name. */
export async function viewTwoFactors(
  { devices }: { devices: DeviceStore },
  accountId: string,
  requests: TwoFactor[],
): Promise<TwoFactorView[]> {
  const live = await devices.listLive(accountId);
  return requests.map((request) => ({
    request,
    destDevice: live.find(({ id }) => id === request.destDeviceId) ?? null,
  }));
}

export async function viewTwoFactor(ports: { devices: DeviceStore }, request: TwoFactor): Promise<TwoFactorView> {
  const [view] = await viewTwoFactors(ports, request.accountId, [request]);
  return view!;
}
