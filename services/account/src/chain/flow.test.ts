import type { AccessApi, ChainEvent } from "@countersign/flow";
import { generateKeyPair } from "@countersign/keys/node";
import type { Network } from "@countersign/settings";
import { expect, it } from "vitest";
import { createFlowChain } from "./flow.ts";

const creator = "e03daebed8ca0615";
const [ours, others, proposalKey] = [
  "aa".repeat(32),
  "bb".repeat(32),
  { address: creator, keyId: 2, sequenceNumber: 7n },
];
const serverKeys = [generateKeyPair(), generateKeyPair()].map(({ publicKey }) => publicKey.publicKey);

const keyAdded = (transactionId: string, address: string, serverKey: string): ChainEvent => ({
  type: "flow.AccountKeyAdded",
  transactionId,
  index: 0,
  fields: {
    address: `0x${address}`,
    publicKey: { publicKey: [...Buffer.from(serverKey, "hex")].map(String), signatureAlgorithm: { rawValue: "1" } },
    weight: "1000.0",
    hashAlgorithm: { rawValue: "3" },
    keyIndex: "0",
  },
});

const evmContract = "f8d6e0586b0a20c7";
const evmOf = (i: number) => `0${i}`.repeat(20);
const evmCreated = (i: number): ChainEvent => ({
  type: `A.${evmContract}.EVM.CadenceOwnedAccountCreated`,
  transactionId: ours,
  fields: { address: evmOf(i), uuid: String(i) },
});

it("finds the accounts of a creation's own transaction, not another one with the same server keys", async () => {
  const events = [
    ...serverKeys.map((key, i) => keyAdded(others, `01${i}`.padEnd(16, "0"), key)),
    ...serverKeys.map((key, i) => keyAdded(ours, `02${i}`.padEnd(16, "0"), key)),
    keyAdded(ours, "03".padEnd(16, "0"), generateKeyPair().publicKey.publicKey),
  ];
  const proposalKeys = new Map([
    [ours, proposalKey],
    [others, { ...proposalKey, address: "1cf0e2f2f7154500" }],
  ]);
  const inResult = events.filter(({ transactionId }) => transactionId === ours);
  const access = {
    events: async () => events,
    transaction: async (id: string) => ({ proposalKey: proposalKeys.get(id) }),
    transactionResult: async () => ({ events: inResult.flatMap((event, i) => [event, evmCreated(i)]) }),
  } as unknown as AccessApi;
  const network = { chainName: "flow", creator: { address: creator }, paymaster: { address: creator }, evmContract };
  const chain = createFlowChain(network as unknown as Network, access);
  const find = () =>
    chain.findDeployed({ serverKeys, transaction: { proposalKey } }, 1n, 100n, new AbortController().signal);
  expect(await find()).toEqual(
    serverKeys.map((serverKey, i) => {
      const address = `02${i}`.padEnd(16, "0");
      return { address, serverKey, serverKeyIndex: 0, evmAddress: `0x${evmOf(i)}` };
    }),
  );
  proposalKeys.set(ours, { ...proposalKey, sequenceNumber: 8n });
  expect(await find()).toEqual([]);
});
