import { createPrivateKey } from "node:crypto";
import { createAccessApi, envelopeMessage, type FlowTransaction, payloadMessage } from "@countersign/flow";
import { withPayloadSignature } from "@countersign/flow/node";
import type { Bench } from "./cases/case.ts";
import type { Resident } from "./people.ts";

const MESSAGES_PER_PERSON = 16;

/** The key that signs: an account's server key, or the paymaster's. */
export type Signer = "transaction" | "paymaster";

/** A person's token, and messages to sign for it. */
export interface SigningPerson {
  token: string;
  /** Payloads, for the account's server key. */
  transaction: Buffer[];
  /** Envelopes as a phone sends them: the payload signed by the device's key. */
  paymaster: Buffer[];
}

/** Returns people that request the same few signatures repeatedly. */
export async function messagesOf(bench: Bench): Promise<SigningPerson[]> {
  const transactionOf = await transactionsOf(bench);
  return bench.residents.map((resident) => {
    const { address, client, deviceKey } = resident;
    const privateKey = createPrivateKey({ format: "jwk", key: deviceKey.toJwk() });
    const transactions = Array.from({ length: MESSAGES_PER_PERSON }, (_, i) => transactionOf(resident, i));
    const device = { address, keyId: 1, privateKey, hash: "sha256" } as const;
    return {
      token: client.credentials!.accessToken,
      transaction: transactions.map((each) => Buffer.from(payloadMessage(each))),
      paymaster: transactions.map((each) => Buffer.from(envelopeMessage(withPayloadSignature(each, device)))),
    };
  });
}

/** Returns people with `perPerson` transactions each, all different, and none from `messagesOf`. */
export async function newMessagesOf(bench: Bench, perPerson: number): Promise<SigningPerson[]> {
  const transactionOf = await transactionsOf(bench);
  return bench.residents.map((resident) => ({
    token: resident.client.credentials!.accessToken,
    transaction: Array.from({ length: perPerson }, (_, i) =>
      Buffer.from(payloadMessage(transactionOf(resident, MESSAGES_PER_PERSON + i))),
    ),
    paymaster: [],
  }));
}

async function transactionsOf(bench: Bench): Promise<(of: Resident, sequence: number) => FlowTransaction> {
  const chain = bench.stack.chains[0]!;
  const block = await createAccessApi({ baseUrl: chain.accessNode }).latestSealedBlock();
  return ({ address }, sequence) => ({
    script: "transaction(text: String) { prepare(account: &Account) { log(text) } }",
    arguments: [JSON.stringify({ type: "String", value: "hello" })],
    referenceBlockId: block.id,
    gasLimit: 999n,
    proposalKey: { address, keyId: 1, sequenceNumber: BigInt(sequence) },
    payer: chain.paymaster.slice(2),
    authorizers: [address],
    payloadSignatures: [],
    envelopeSignatures: [],
  });
}
