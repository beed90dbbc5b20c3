import { uuidv7 } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import type { FlowTransaction } from "@countersign/flow";
import { generateKeyPair } from "@countersign/keys/node";
import { expect, it } from "vitest";
import type { KeyAddition } from "../domain/key-additions/key-addition.ts";
import { prisma } from "../testing/store-fixture.ts";
import { prismaKeyAdditionStore } from "./prisma-key-addition-store.ts";

const clock = new FixedClock("2026-11-20T10:00:00Z");
const transaction: FlowTransaction = {
  script: "s",
  arguments: [],
  referenceBlockId: "ab".repeat(32),
  gasLimit: 9999n,
  proposalKey: { address: "e03daebed8ca0615", keyId: 1, sequenceNumber: 7n },
  payer: "e03daebed8ca0615",
  authorizers: ["e03daebed8ca0615"],
  payloadSignatures: [],
  envelopeSignatures: [],
};

it("key additions under one id are one, also of an abandoned one and another, and end once", async () => {
  const store = prismaKeyAdditionStore(prisma);
  const newAddition = (): KeyAddition => ({
    ...{ attemptId: uuidv7(clock), accountId: uuidv7(clock), chainName: "flow-emulator" },
    ...{ userKey: generateKeyPair().publicKey, state: "submitted", transaction, transactionId: "t1" },
    ...{ referenceHeight: 9n, keyIndex: -1 },
  });
  const abandonedOf = (addition: KeyAddition): KeyAddition => ({
    ...addition,
    ...{ state: "abandoned", transaction: undefined },
  });
  const commit = (addition: KeyAddition) => store.commit(addition, clock.now());
  const [one, other] = [newAddition(), newAddition()];
  const racing = [one, abandonedOf(one), { ...one, transactionId: "t2" }];
  const [first, ...rest] = await Promise.all(racing.map(commit));
  expect(racing).toContainEqual(first);
  expect(rest).toEqual([first, first]);

  const [submitted, abandoned] = [await commit(other), await commit(abandonedOf(newAddition()))];
  const { attemptId } = await commit(newAddition());
  for (const id of [attemptId, abandoned.attemptId]) {
    await store.finish(id, { state: "sealed", keyIndex: 2 });
    await store.finish(id, { state: "failed" });
  }
  expect(await store.find(attemptId)).toMatchObject({ state: "sealed", keyIndex: 2 });
  expect(await store.find(abandoned.attemptId)).toEqual(abandoned);
  expect(await store.find(other.attemptId)).toEqual(submitted);
});
