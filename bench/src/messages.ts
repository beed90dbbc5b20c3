import { createPrivateKey } from "node:crypto";
import { createAccessApi, envelopeMessage, type FlowTransaction, payloadMessage } from "@countersign/flow";
import { withPayloadSignature } from "@countersign/flow/node";
import type { Bench } from "./cases/case.ts";
import type { Resident } from "./people.ts";

const MESSAGES_PER_PERSON = 16;

/** What the server key of an account signs, and what the paymaster does. */
export type Signer = "transaction" | "paymaster";

/** Somebody's token, and messages that are signed for it. */
export interface Asking {
  token: string;
  /** Payloads, for the account's server key. */
  transaction: Buffer[];
  /** Envelopes as a phone sends them: the payload signed by the device's key. */
  paymaster: Buffer[];
}

/** Who asks again and again for the same few signatures of every kind. */
export async function messagesOf(bench: Bench): Promise<Asking[]> {
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

/** Who asks for no transaction twice: so many for each resident, none of those of messagesOf. */
export async function newMessagesOf(bench: Bench, perPerson: number): Promise<Asking[]> {
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
