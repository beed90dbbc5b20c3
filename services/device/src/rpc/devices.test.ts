import { FixedClock } from "@countersign/core/testing";
import { generateKeyPair } from "@countersign/keys/node";
import { v7 } from "uuid";
import { expect, it } from "vitest";
import { registerDevice } from "../domain/devices/register-device.ts";
import { memoryDeviceStore } from "../testing/memory-device-store.ts";
import { someRegistration } from "../testing/samples.ts";
import { devicesHandlers } from "./devices.ts";

it("a device changes devices so many times a minute, each with an event; other devices of its account go on", async () => {
  const clock = new FixedClock();
  const store = memoryDeviceStore();
  const options = { store, clock, maxDevices: 20, updatesPerMinute: 3 };
  const { updateDevice } = devicesHandlers(options);
  const accountId = v7();
  const { publicKey } = await registerDevice(options)(someRegistration(accountId));
  const rename = (deviceKey: typeof publicKey, name: string) => {
    const token = { accountId, deviceKey, accountKey: deviceKey, scope: "full" };
    return updateDevice({ publicKey: Buffer.from(publicKey.publicKey, "hex"), name } as never, { token } as never);
  };
  for (const name of ["a", "b", "c"]) await rename(publicKey, name);
  await expect(rename(publicKey, "d")).rejects.toMatchObject({ reason: "RateLimited" });
  expect(store.events.filter(({ type }) => type === "device-updated")).toHaveLength(3);
  await rename(generateKeyPair().publicKey, "e");
  clock.advance(60_000);
  await rename(publicKey, "f");
});
