import { FixedClock } from "@countersign/core/testing";
import { v7 } from "uuid";
import { beforeEach, describe, expect, it } from "vitest";
import { type MemoryDeviceStore, memoryDeviceStore } from "../../testing/memory-device-store.ts";
import { someRegistration } from "../../testing/samples.ts";
import type { Device, Session } from "./device.ts";
import { registerDevice } from "./register-device.ts";
import { updateDevice } from "./update-device.ts";

describe("updateDevice", () => {
  const clock = new FixedClock();
  let store: MemoryDeviceStore;
  let own: Device;
  let other: Device;
  let session: Session;
  const update = (publicKey: string, rest: { id?: string; changes?: Record<string, string> }) =>
    updateDevice({ store, clock })({ session, publicKey, changes: {}, requestId: "test", ...rest });

  beforeEach(async () => {
    store = memoryDeviceStore();
    const register = registerDevice({ store, clock, maxDevices: 20 });
    const accountId = v7();
    own = await register(someRegistration(accountId));
    other = await register(someRegistration(accountId));
    session = { accountId, deviceKey: own.publicKey };
    store.events.length = 0;
  });

  it("changes what is present and keeps the rest", async () => {
    const changed = await update(own.publicKey.publicKey, { changes: { name: "New name", pushToken: "p1" } });
    expect(changed.attributes).toEqual({ ...own.attributes, name: "New name", pushToken: "p1" });
    expect(store.events.map(({ type }) => type)).toEqual(["device-updated"]);
  });

  it("changes what differs beside what stays", async () => {
    const { name } = own.attributes;
    const changed = await update(own.publicKey.publicKey, { changes: { name, pushToken: "p1" } });
    expect(changed.attributes).toEqual({ ...own.attributes, pushToken: "p1" });
    expect(store.events).toHaveLength(1);
  });

  it("changes another device of the account, except its push token", async () => {
    const key = other.publicKey.publicKey;
    await expect(update(key, { changes: { name: "Old phone" } })).resolves.toBeDefined();
    await expect(update(key, { changes: { pushToken: "" } })).rejects.toMatchObject({ reason: "PushTokenNotYours" });
  });

  it("takes the device's own id and no other", async () => {
    const key = own.publicKey.publicKey;
    await expect(update(key, { id: own.id })).resolves.toEqual(own);
    await expect(update(key, { id: other.id })).rejects.toMatchObject({ reason: "InvalidRequest" });
    await expect(update(key, { id: "" })).rejects.toMatchObject({ reason: "InvalidRequest" });
  });

  it("emits nothing where nothing changes", async () => {
    await update(own.publicKey.publicKey, { changes: { name: own.attributes.name } });
    expect(store.events).toEqual([]);
  });

  it("does not find another account's device", async () => {
    const outsider = await registerDevice({ store, clock, maxDevices: 20 })(someRegistration(v7()));
    await expect(update(outsider.publicKey.publicKey, { changes: { name: "x" } })).rejects.toMatchObject({
      reason: "DeviceNotFound",
    });
  });
});
