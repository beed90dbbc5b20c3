import { FixedClock } from "@countersign/core/testing";
import { v7 } from "uuid";
import { expect, it } from "vitest";
import { memoryKeyStore } from "../testing/memory-key-store.ts";
import { someKey } from "../testing/samples.ts";
import { recordKeyUse } from "./record-key-use.ts";
import { registerKey } from "./register-key.ts";

it("moves the last use forward, never back nor beyond now", async () => {
  const clock = new FixedClock();
  const store = memoryKeyStore();
  const note = recordKeyUse({ store, clock });
  const { accountId, accountKey } = await registerKey({ store, clock, newId: v7, maxUserKeys: 20 })(someKey());
  const now = clock.now();
  const at = async (offset: number) => {
    await note({ accountId, accountKey, usedAt: new Date(now.getTime() + offset) });
    return store.registrations[0]!.lastUsedAt!.getTime() - now.getTime();
  };
  expect(await at(-2000)).toBe(-2000);
  expect(await at(-1000)).toBe(-1000);
  expect(await at(-1500)).toBe(-1000);
  expect(await at(60_000)).toBe(0);
});
