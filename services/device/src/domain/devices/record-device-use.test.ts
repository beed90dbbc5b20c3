import { FixedClock } from "@countersign/core/testing";
import { v7 } from "uuid";
import { expect, it } from "vitest";
import { memoryDeviceStore } from "../../testing/memory-device-store.ts";
import { someRegistration } from "../../testing/samples.ts";
import { recordDeviceUse } from "./record-device-use.ts";
import { registerDevice } from "./register-device.ts";

it("orders devices by their last use, which never moves back nor beyond now", async () => {
  const clock = new FixedClock();
  const store = memoryDeviceStore();
  const register = registerDevice({ store, clock, maxDevices: 20 });
  const note = recordDeviceUse({ store, clock });
  const accountId = v7();
  const first = await register(someRegistration(accountId));
  clock.advance(1000);
  const second = await register(someRegistration(accountId));
  const ids = async () => (await store.listLive(accountId)).map(({ id }) => id);
  expect(await ids()).toEqual([second.id, first.id]);

  clock.advance(1000);
  const used = clock.now();
  await note({ accountId, publicKey: first.publicKey, usedAt: used });
  await note({ accountId, publicKey: first.publicKey, usedAt: new Date(used.getTime() - 500) });
  expect(await ids()).toEqual([first.id, second.id]);
  expect(store.devices.get(first.id)?.lastUsedAt).toEqual(used);

  await note({ accountId, publicKey: second.publicKey, usedAt: new Date(used.getTime() + 60_000) });
  expect(store.devices.get(second.id)?.lastUsedAt).toEqual(used);
});
