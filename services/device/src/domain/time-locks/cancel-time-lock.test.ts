import { FixedClock } from "@countersign/core/testing";
import { generateKeyPair } from "@countersign/keys/node";
import { v7 } from "uuid";
import { expect, it } from "vitest";
import { memoryDeviceStore } from "../../testing/memory-device-store.ts";
import { someRegistration } from "../../testing/samples.ts";
import { registerDevice } from "../devices/register-device.ts";
import { cancelTimeLock } from "./cancel-time-lock.ts";

it("a registered device cancels a time lock of its account, with the time at which it was registered itself", async () => {
  const clock = new FixedClock();
  const store = memoryDeviceStore();
  const cancelled: unknown[] = [];
  const timeLocks = {
    list: async () => [],
    cancel: async (...args: unknown[]) => void cancelled.push(args),
  };
  const accountId = v7();
  const register = registerDevice({ store, clock, maxDevices: 20 });
  await register(someRegistration(accountId));
  clock.advance(1000);
  const own = await register(someRegistration(accountId));
  const foreign = await register(someRegistration(v7()));
  clock.advance(1000);
  const cancel = (deviceKey = own.publicKey) =>
    cancelTimeLock({ store, timeLocks })({ session: { accountId, deviceKey }, id: "time-lock", requestId: "request" });

  await cancel();
  expect(cancelled).toEqual([[{ accountId, id: "time-lock", deviceCreatedAt: own.createdAt }, "request"]]);
  for (const key of [foreign.publicKey, generateKeyPair().publicKey])
    await expect(cancel(key)).rejects.toMatchObject({ reason: "SessionEnded" });
  expect(cancelled).toHaveLength(1);
});
