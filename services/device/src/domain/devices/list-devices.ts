import type { Device } from "./device.ts";
import type { DeviceStore } from "./device-store.ts";

/** Returns the account's live devices, most recently used first. */
export function listDevices({ store }: { store: DeviceStore }) {
  return (query: { accountId: string }): Promise<Device[]> => store.listLive(query.accountId);
}
