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
  const access = {
    events: async () => events,
    transaction: async (id: string) => ({ proposalKey: proposalKeys.get(id) }),
  } as unknown as AccessApi;
  const network = { chainName: "flow", creator: { address: creator }, paymaster: { address: creator } };
  const chain = createFlowChain(network as unknown as Network, access);
  const find = () =>
    chain.findDeployed({ serverKeys, transaction: { proposalKey } }, 1n, 100n, new AbortController().signal);
  expect((await find()).map(({ address }) => address)).toEqual(["0200000000000000", "0210000000000000"]);
  proposalKeys.set(ours, { ...proposalKey, sequenceNumber: 8n });
  expect(await find()).toEqual([]);
});
