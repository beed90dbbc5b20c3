import { uuidv7 } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { expect, it } from "vitest";
import type { ServerKeyRotation } from "../domain/server-keys/server-key-rotation.ts";
import { prisma } from "../testing/store-fixture.ts";
import { prismaServerKeyRotationStore } from "./prisma-server-key-rotation-store.ts";

const clock = new FixedClock("2026-11-20T10:00:00Z");

const some = (transactionId: string): ServerKeyRotation => ({
  accountId: uuidv7(clock),
  chainName: "flow-emulator",
  version: 2,
  newKey: "ab".repeat(64),
  state: "submitted",
  transaction: {
    script: "",
    arguments: [],
    referenceBlockId: "00",
    gasLimit: 9999n,
    proposalKey: { address: "01cf0e2f2f715450", keyId: 0, sequenceNumber: 7n },
    payer: "",
    authorizers: [],
    payloadSignatures: [],
    envelopeSignatures: [],
  },
  transactionId,
  referenceHeight: 5n,
});

it("of many at once one is committed, until it has failed; an end is written once, and for the same bytes only", async () => {
  const store = prismaServerKeyRotationStore(prisma);
  const first = some("t0");
  const tries = (ids: string[]) =>
    Promise.all(ids.map((transactionId) => store.commit({ ...first, transactionId }, clock.now())));
  const committed = await tries(["t1", "t2", "t3", "t4"]);
  expect(new Set(committed.map(({ transactionId }) => transactionId)).size).toBe(1);
  const one = committed[0]!;
  expect(one).toEqual({ ...first, transactionId: one.transactionId });
  expect(await store.open("flow-emulator", 10)).toEqual([one]);
  expect(await store.open("elsewhere", 10)).toEqual([]);
  expect(await store.open("flow-emulator", 10, { before: new Date(clock.now().getTime() + 1) })).toEqual([one]);
  expect(await store.open("flow-emulator", 10, { before: clock.now() })).toEqual([]);
  expect(await store.open("flow-emulator", 10, { skip: 1 })).toEqual([]);
  await store.finish({ ...one, transactionId: "another" }, "failed");
  expect(await store.newest(one.accountId, one.chainName)).toEqual(one);
  await store.finish(one, "failed");
  const followed = await tries(["t5", "t6", "t7"]);
  expect(new Set(followed.map(({ transactionId }) => transactionId)).size).toBe(1);
  const next = followed[0]!;
  expect(next).toMatchObject({ state: "submitted" });
  // The end of the first is not the end of what followed it.
  await store.finish(one, "sealed");
  expect(await store.newest(one.accountId, one.chainName)).toEqual(next);
  await store.finish(next, "sealed");
  await store.finish(next, "failed");
  expect(await store.newest(one.accountId, one.chainName)).toMatchObject({ state: "sealed" });
  expect(await store.open("flow-emulator", 10)).toEqual([]);
  expect(await store.newest(one.accountId, "elsewhere")).toBeUndefined();
});

it("the newest is the account's, open ones come the oldest first, and each version ends by itself", async () => {
  const store = prismaServerKeyRotationStore(prisma);
  const chainName = "flow-testnet";
  const one = { ...some("t1"), chainName };
  const next = { ...one, version: 3, transactionId: "t2" };
  const other = { ...some("t3"), chainName, version: 9 };
  for (const [i, each] of [one, next, other].entries()) await store.commit(each, new Date(clock.now().getTime() + i));
  expect(await store.newest(one.accountId, chainName)).toEqual(next);
  expect(await store.open(chainName, 2)).toEqual([one, next]);
  await store.finish(one, "failed");
  await store.finish({ ...one, transactionId: "t2" }, "failed");
  expect(await store.commit({ ...next, transactionId: "t4" }, clock.now())).toEqual(next);
});
