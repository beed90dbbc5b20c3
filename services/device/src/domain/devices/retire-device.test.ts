import { FixedClock } from "@countersign/core/testing";
import { v7 } from "uuid";
import { beforeEach, describe, expect, it } from "vitest";
import { type MemoryDeviceStore, memoryDeviceStore } from "../../testing/memory-device-store.ts";
import { someRegistration } from "../../testing/samples.ts";
import { registerDevice } from "./register-device.ts";
import { retireDevice } from "./retire-device.ts";

const clock = new FixedClock();
let store: MemoryDeviceStore;
beforeEach(() => {
  store = memoryDeviceStore();
});

describe("a device whose last key was revoked on chain", () => {
  it("leaves the list, once", async () => {
    const device = await registerDevice({ store, clock, maxDevices: 20 })(someRegistration(v7()));
    const { accountId, publicKey: deviceKey } = device;
    const command = { accountId, deviceKey, revokedAt: clock.now(), requestId: "r" };
    await retireDevice({ store, clock })(command);
    await retireDevice({ store, clock })(command);
    expect(await store.listLive(accountId)).toEqual([]);
    expect(store.events.map(({ type }) => type)).toEqual(["device-registered", "device-removed"]);
  });

  it("stays where it was registered after the revocation", async () => {
    const device = await registerDevice({ store, clock, maxDevices: 20 })(someRegistration(v7()));
    const revokedAt = new Date(device.createdAt.getTime() - 1);
    const { accountId, publicKey: deviceKey } = device;
    await retireDevice({ store, clock })({ accountId, deviceKey, revokedAt, requestId: "r" });
    expect(await store.listLive(accountId)).toHaveLength(1);
  });
});
