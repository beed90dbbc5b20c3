import { FixedClock } from "@countersign/core/testing";
import { v7 } from "uuid";
import { expect, it, vi } from "vitest";
import { memoryKeyStore } from "../testing/memory-key-store.ts";
import { someKey } from "../testing/samples.ts";
import { listKeys } from "./list-keys.ts";
import { registerKey } from "./register-key.ts";

it("lists an account's keys with their devices, revoked ones only when asked", async () => {
  const store = memoryKeyStore();
  const register = registerKey({ store, clock: new FixedClock(), newId: v7, maxUserKeys: 20 });
  const first = await register(someKey());
  const { accountId } = first;
  const second = await register(someKey({ accountId, keyIndex: 2 }));
  await register(someKey());
  const sessions: string[] = [];
  const devices = {
    list: async (session: string) => {
      sessions.push(session);
      return [{ publicKey: second.deviceKey, device: "the second's device" }];
    },
  };
  const repair = vi.fn(async () => undefined);
  const list = (includeRevoked: boolean) =>
    listKeys({ store, devices, repair })({ accountId, session: "s", includeRevoked, requestId: "r" });

  expect(await list(false)).toEqual([
    { registration: first, device: undefined },
    { registration: second, device: "the second's device" },
  ]);
  expect(sessions).toEqual(["s"]);
  expect(repair).toHaveBeenCalledExactlyOnceWith({ accountId, requestId: "r" });
  store.registrations[0]!.revokedAt = new Date();
  expect((await list(false)).map(({ registration }) => registration.id)).toEqual([second.id]);
  expect((await list(true)).map(({ registration }) => registration.id)).toEqual([first.id, second.id]);
});
