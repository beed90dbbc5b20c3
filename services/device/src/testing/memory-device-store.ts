import { type PublicKey, samePublicKey } from "@countersign/keys";
import type { Device } from "../domain/devices/device.ts";
import type { DeviceEvent, DeviceStore } from "../domain/devices/device-store.ts";

export interface MemoryDeviceStore extends DeviceStore {
  devices: Map<string, Device>;
  events: DeviceEvent[];
}

/** Devices in memory, for tests of commands; one command at a time. */
export function memoryDeviceStore(): MemoryDeviceStore {
  const devices = new Map<string, Device>();
  const events: DeviceEvent[] = [];
  const ofAccount = (accountId: string) => [...devices.values()].filter((device) => device.accountId === accountId);
  const live = (accountId: string) => ofAccount(accountId).filter(({ removedAt }) => removedAt === null);
  const write = (event: DeviceEvent) => devices.set(event.device.id, event.device) && events.push(event);
  return {
    devices,
    events,
    insertFirst: async (event) =>
      ofAccount(event.device.accountId).length === 0 && !devices.has(event.device.id) && Boolean(write(event)),
    withAccount: (accountId, work) =>
      work({
        findRemoved: async (key) =>
          ofAccount(accountId).findLast((device) => device.publicKey.publicKey === key && device.removedAt),
        listLive: async () => live(accountId),
        insert: async (event) => !devices.has(event.device.id) && Boolean(write(event)),
        update: async (event) => void write(event),
      }),
    listLive: async (accountId) => live(accountId).sort((a, b) => b.lastUsedAt.getTime() - a.lastUsedAt.getTime()),
    touch: async (accountId: string, publicKey: PublicKey, usedAt: Date) => {
      const device = live(accountId).find((each) => samePublicKey(each.publicKey, publicKey));
      if (device && device.lastUsedAt < usedAt) device.lastUsedAt = usedAt;
      return device?.createdAt;
    },
  };
}
