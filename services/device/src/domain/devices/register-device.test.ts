import { FixedClock } from "@countersign/core/testing";
import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { memoryDeviceStore } from "../../testing/memory-device-store.ts";
import { someAttributes, someRegistration } from "../../testing/samples.ts";
import { registerDevice } from "./register-device.ts";

describe("registerDevice", () => {
  const accountId = v7();
  const setUp = (maxDevices = 20) => {
    const store = memoryDeviceStore();
    return { store, register: registerDevice({ store, clock: new FixedClock(), maxDevices }) };
  };

  it("registers a device and emits an event", async () => {
    const { store, register } = setUp();
    const command = someRegistration(accountId);
    const device = await register(command);
    expect(device).toMatchObject({ id: command.deviceId, accountId, publicKey: command.publicKey, removedAt: null });
    expect(store.events).toEqual([
      { type: "device-registered", device, occurredAt: device.createdAt, requestId: "test" },
    ]);
  });

  it("returns the present device for the same key, with any other attributes", async () => {
    const { store, register } = setUp();
    const command = someRegistration(accountId);
    const first = await register(command);
    const again = await register({
      ...command,
      deviceId: v7(),
      attributes: { ...someAttributes, name: "Another name" },
    });
    expect(again).toEqual(first);
    expect(store.events).toHaveLength(1);
  });

  it("refuses an id that another device has", async () => {
    const { register } = setUp();
    const command = someRegistration(accountId);
    await register(command);
    const other = { ...someRegistration(v7()), deviceId: command.deviceId };
    await expect(register(other)).rejects.toMatchObject({ reason: "DeviceConflict" });
  });

  it("refuses the same bytes under another algorithm", async () => {
    const { register } = setUp();
    const command = someRegistration(accountId);
    await register(command);
    const other = { ...command, publicKey: { ...command.publicKey, algorithm: "ES256K" as const } };
    await expect(register(other)).rejects.toMatchObject({ reason: "DeviceConflict" });
  });

  it("lets two accounts have the same key", async () => {
    const { register } = setUp();
    const command = someRegistration(accountId);
    await register(command);
    const other = await register(someRegistration(v7(), command.publicKey));
    expect(other.id).not.toBe(command.deviceId);
  });

  it("keeps the limit, and still answers retries at it", async () => {
    const { register } = setUp(2);
    const first = someRegistration(accountId);
    await register(first);
    await register(someRegistration(accountId));
    await expect(register(someRegistration(accountId))).rejects.toMatchObject({ reason: "TooManyDevices" });
    await expect(register(first)).resolves.toMatchObject({ id: first.deviceId });
    await expect(register(someRegistration(v7()))).resolves.toBeDefined();
  });
});
