import { FixedClock } from "@countersign/core/testing";
import { v7 } from "uuid";
import { beforeEach, describe, expect, it } from "vitest";
import { type MemoryDeviceStore, memoryDeviceStore } from "../../testing/memory-device-store.ts";
import { someRegistration } from "../../testing/samples.ts";
import type { Device } from "./device.ts";
import { registerDevice } from "./register-device.ts";
import { type ChainAccess, removeDevice, YOUNG_DEVICE_MS } from "./remove-device.ts";

describe("removeDevice", () => {
  let clock: FixedClock;
  let store: MemoryDeviceStore;
  let old: Device;
  let young: Device;
  const onChain = (devices: Device[], recoveryKey = false): ChainAccess => ({
    deviceKeys: devices.map(({ publicKey }) => publicKey),
    recoveryKey,
  });
  const remove = (caller: Device, device: Device, access?: ChainAccess[]) =>
    removeDevice({ store, clock })({
      session: { accountId: caller.accountId, deviceKey: caller.publicKey },
      publicKey: device.publicKey.publicKey,
      access,
      requestId: "test",
    });

  beforeEach(async () => {
    clock = new FixedClock();
    store = memoryDeviceStore();
    const accountId = v7();
    const register = registerDevice({ store, clock, maxDevices: 20 });
    old = await register(someRegistration(accountId));
    clock.advance(1000);
    young = await register(someRegistration(accountId));
    store.events.length = 0;
  });

  it("removes once and gives the same device on a repeated call", async () => {
    const removed = await remove(old, young);
    expect(removed.removedAt).toEqual(clock.now());
    clock.advance(1000);
    expect(await remove(old, young)).toEqual(removed);
    expect(store.events.map(({ type }) => type)).toEqual(["device-removed"]);
  });

  it("keeps a young device from removing an older one for a day", async () => {
    clock.advance(YOUNG_DEVICE_MS - 1);
    await expect(remove(young, old)).rejects.toMatchObject({ reason: "DeviceTooYoung" });
    clock.advance(1);
    await expect(remove(young, old)).resolves.toMatchObject({ id: old.id });
  });

  it("lets a device remove itself where another one signs in", async () => {
    const access = [onChain([old, young])];
    await expect(remove(young, young, access)).resolves.toMatchObject({ id: young.id });
    await expect(remove(young, young, access)).resolves.toMatchObject({ id: young.id });
  });

  it("keeps the last device that signs in, unless there is a recovery key; other devices without a key are none", async () => {
    const last = { reason: "LastDevice" };
    await expect(remove(old, old, [onChain([old])])).rejects.toMatchObject(last);
    const gone: Device = { ...young, publicKey: someRegistration(young.accountId).publicKey };
    await expect(remove(old, old, [onChain([old, gone])])).rejects.toMatchObject(last);
    expect(store.events).toEqual([]);
    await expect(remove(old, old, [onChain([old], true)])).resolves.toMatchObject({ id: old.id });
  });

  it("keeps it on each chain by itself, and asks nothing where it signs in nowhere", async () => {
    const elsewhere = { ...onChain([old]), chainName: "flow-testnet" };
    const access = [onChain([old, young]), elsewhere];
    await expect(remove(old, old, access)).rejects.toMatchObject({ reason: "LastDevice" });
    await expect(remove(old, old, [{ ...elsewhere, deviceKeys: [] }])).resolves.toMatchObject({ id: old.id });
  });

  it("keeps a device that removes itself where nobody knows who signs in, and removes others all the same", async () => {
    await expect(remove(old, old)).rejects.toMatchObject({ reason: "Unavailable" });
    await expect(remove(old, young)).resolves.toMatchObject({ id: young.id });
  });

  it("refuses a removed device as the caller", async () => {
    await remove(old, young);
    clock.advance(2 * YOUNG_DEVICE_MS);
    await expect(remove(young, old)).rejects.toMatchObject({ reason: "SessionEnded" });
  });

  it("does not find another account's device", async () => {
    const outsider = await registerDevice({ store, clock, maxDevices: 20 })(someRegistration(v7()));
    await expect(remove(old, outsider)).rejects.toMatchObject({ reason: "DeviceNotFound" });
    expect(store.devices.get(outsider.id)?.removedAt).toBeNull();
  });
});
