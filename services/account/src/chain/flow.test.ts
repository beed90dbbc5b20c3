import type { AccessApi, ChainEvent, ChainTransaction } from "@countersign/flow";
import { generateKeyPair } from "@countersign/keys/node";
import type { Network } from "@countersign/settings";
import { expect, it } from "vitest";
import { createFlowChain } from "./flow.ts";

const creator = "e03daebed8ca0615";
const evmContract = "f8d6e0586b0a20c7";
const [ours, others, proposalKey] = [
  "aa".repeat(32),
  "bb".repeat(32),
  { address: creator, keyId: 2, sequenceNumber: 7n },
];
const serverKeys = [generateKeyPair(), generateKeyPair()].map(({ publicKey }) => publicKey.publicKey);
const { signal } = new AbortController();

const keyAdded = (transactionId: string, address: string, serverKey: string, index: number): ChainEvent => ({
  type: "flow.AccountKeyAdded",
  transactionId,
  index,
  fields: {
    address: `0x${address}`,
    publicKey: { publicKey: [...Buffer.from(serverKey, "hex")].map(String), signatureAlgorithm: { rawValue: "1" } },
    weight: "1000.00000000",
    hashAlgorithm: { rawValue: "3" },
    keyIndex: "0",
  },
});
const evmCreated = (transactionId: string, evmAddress: string, index: number): ChainEvent => ({
  type: `A.${evmContract}.EVM.CadenceOwnedAccountCreated`,
  transactionId,
  index,
  fields: { address: evmAddress, uuid: String(index) },
});

/** The accounts that a transaction creates with the server keys, and their events. */
function creation(transactionId: string, first: string) {
  const accounts = serverKeys.map((serverKey, i) => ({
    address: `${first}${i}`.repeat(8),
    serverKey,
    serverKeyIndex: 0,
    evmAddress: `0x${`${first}${i}`.repeat(20)}`,
  }));
  const events = accounts.flatMap(({ address, serverKey, evmAddress }, i) => [
    keyAdded(transactionId, address, serverKey, 2 * i),
    evmCreated(transactionId, evmAddress.slice(2), 2 * i + 1),
  ]);
  return { accounts, events };
}

const chainOn = (access: Partial<AccessApi>) => {
  const network = { chainName: "flow", creator: { address: creator }, paymaster: { address: creator }, evmContract };
  return createFlowChain(network as unknown as Network, access as AccessApi);
};

/** Looks for a creation in a block with these events, two transactions of which created its accounts. */
function findIn(events: readonly ChainEvent[], sequenceNumber = 7n) {
  const proposalKeys = new Map([
    [ours, { ...proposalKey, sequenceNumber }],
    [others, { ...proposalKey, address: "1cf0e2f2f7154500" }],
  ]);
  const chain = chainOn({
    events: async (type) => events.filter((event) => event.type === type),
    transaction: async (id) => ({ proposalKey: proposalKeys.get(id) }) as unknown as ChainTransaction,
  });
  return chain.findDeployed({ serverKeys, transaction: { proposalKey } }, 1n, 100n, signal);
}

it("finds the accounts of a creation's own transaction, not another one with the same server keys", async () => {
  const own = creation(ours, "2");
  const events = [...creation(others, "1").events, ...own.events];
  expect(await findIn(events)).toEqual(own.accounts);
  expect(await findIn(events, 8n)).toEqual([]);
});

it.each([250n, 2n])(
  "finds a creation among so many keys that those of %s blocks are too much for one answer",
  async (blocks) => {
    const own = creation(ours, "2");
    const chain = chainOn({
      async events(type, from, to) {
        if (to - from + 1n >= blocks) throw new Error("the answer has more than 4 MiB");
        return from <= 590n && 590n <= to ? own.events.filter((event) => event.type === type) : [];
      },
      transaction: async () => ({ proposalKey }) as unknown as ChainTransaction,
    });
    expect(await chain.findDeployed({ serverKeys, transaction: { proposalKey } }, 1n, 650n, signal)).toEqual(
      own.accounts,
    );
  },
);

it("does not take a creation for none of which some events are missing", async () => {
  const { events } = creation(ours, "2");
  for (const missing of [1, 2, 3]) await expect(findIn(events.toSpliced(missing, 1))).rejects.toThrow("incomplete");
});

it("shows the accounts of a sealed creation with the EVM addresses that its events name", async () => {
  const { accounts, events } = creation(ours, "2");
  const asked: unknown[] = [];
  const chain = chainOn({
    async transactionResult(id, _, types) {
      asked.push(id, types);
      return { status: "Sealed", statusCode: 0, errorMessage: "", blockId: "", events };
    },
  });
  expect(await chain.outcome(ours, signal)).toEqual({ status: "sealed", accounts });
  expect(asked).toEqual([ours, ["flow.AccountKeyAdded", `A.${evmContract}.EVM.CadenceOwnedAccountCreated`]]);
});

it("does not judge a wrong sequence number before the node knows the block that shows it", async () => {
  const cause = "[Error Code: 1007] invalid proposal key";
  const blocks = [undefined, { id: "", height: 107n, time: new Date(0) }];
  const chain = chainOn({
    transactionResult: async () => ({
      status: "Sealed",
      statusCode: 1,
      errorMessage: cause,
      blockId: "cc".repeat(32),
      events: [],
    }),
    block: async () => blocks.shift(),
  });
  expect(await chain.outcome(ours, signal)).toEqual({ status: "pending" });
  expect(await chain.outcome(ours, signal)).toEqual({ status: "failed", cause, wrongSequenceAt: 107n });
});

it("does not show a change of keys before the node knows its block", async () => {
  const blocks = [undefined, { id: "", height: 107n, time: new Date(0) }];
  const result = { status: "Sealed", statusCode: 0, errorMessage: "", blockId: "cc".repeat(32), events: [] } as const;
  const chain = chainOn({
    transactionResult: async () => result,
    block: async () => blocks.shift(),
    blockAt: async () => undefined,
  });
  expect(await chain.keyAdditionOutcome(ours, signal)).toEqual({ status: "pending", events: [] });
  expect(await chain.keyAdditionOutcome(ours, signal)).toEqual({ status: "sealed", height: 107n, events: [] });
  Object.assign(result, { statusCode: 1, errorMessage: "no" });
  blocks.push({ id: "", height: 108n, time: new Date(0) });
  expect(await chain.keyAdditionOutcome(ours, signal)).toEqual({ status: "failed", height: 108n, events: [] });
});
