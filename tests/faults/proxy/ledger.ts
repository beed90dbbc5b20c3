import {
  type AccessApi,
  type AddedKey,
  addedKeys,
  createAccessApi,
  type FlowTransaction,
  type TransactionSignature,
  transactionId,
} from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";

/** What the chain says happened, read from its access node past the proxies. */
export interface Ledger {
  /** Every key that was ever added to an account. */
  keysAdded(): Promise<AddedKey[]>;
  /** Every transaction of the blocks after `height`, as the node has it. */
  transactionsAfter(height: bigint): Promise<FlowTransaction[]>;
  height(): Promise<bigint>;
}

interface WireSignature {
  address: string;
  key_index: string;
  signature: string;
}
interface WireTransaction {
  id: string;
  script: string;
  arguments: string[];
  reference_block_id: string;
  gas_limit: string;
  payer: string;
  proposal_key: { address: string; key_index: string; sequence_number: string };
  authorizers: string[];
  payload_signatures: WireSignature[];
  envelope_signatures: WireSignature[];
}

const PAGE = 250n;
const text = (base64: string) => Buffer.from(base64, "base64").toString();
const signature = (wire: WireSignature): TransactionSignature => ({
  address: wire.address,
  keyId: Number(wire.key_index),
  signature: bytesToHex(Buffer.from(wire.signature, "base64")),
});

function readTransaction(wire: WireTransaction): FlowTransaction {
  const { address, key_index, sequence_number } = wire.proposal_key;
  const transaction: FlowTransaction = {
    script: text(wire.script),
    arguments: (wire.arguments ?? []).map(text),
    referenceBlockId: wire.reference_block_id,
    gasLimit: BigInt(wire.gas_limit),
    proposalKey: { address, keyId: Number(key_index), sequenceNumber: BigInt(sequence_number) },
    payer: wire.payer,
    authorizers: wire.authorizers ?? [],
    payloadSignatures: (wire.payload_signatures ?? []).map(signature),
    envelopeSignatures: (wire.envelope_signatures ?? []).map(signature),
  };
  // The id covers every byte: what was read is what stands on chain.
  if (transactionId(transaction) !== wire.id) throw new Error(`transaction ${wire.id} was read wrongly`);
  return transaction;
}

/** Reads the chain behind `accessNode`. */
export function createLedger(accessNode: string, access: AccessApi = createAccessApi({ baseUrl: accessNode })): Ledger {
  const get = async <T>(path: string): Promise<T> => {
    const response = await fetch(accessNode + path);
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  };
  const keys: AddedKey[] = [];
  let seen = -1n;
  const height = async () => (await access.latestSealedBlock()).height;
  let reading: Promise<void> = Promise.resolve();
  const readOn = async () => {
    const latest = await height();
    while (seen < latest) {
      const end = seen + PAGE < latest ? seen + PAGE : latest;
      keys.push(...addedKeys(await access.events("flow.AccountKeyAdded", seen + 1n, end)));
      seen = end;
    }
  };

  return {
    height,
    async keysAdded() {
      // One reader after the other: each goes on where the one before stopped.
      const mine = reading.then(readOn);
      reading = mine.catch(() => undefined);
      await mine;
      return keys;
    },
    async transactionsAfter(after) {
      const latest = await height();
      const found: FlowTransaction[] = [];
      for (let from = after + 1n; from <= latest; from += 50n) {
        const to = from + 49n < latest ? from + 49n : latest;
        type Blocks = { payload: { collection_guarantees: { collection_id: string }[] } }[];
        const blocks = await get<Blocks>(`/v1/blocks?start_height=${from}&end_height=${to}&expand=payload`);
        for (const { collection_id: id } of blocks.flatMap(({ payload }) => payload.collection_guarantees ?? [])) {
          const { transactions } = await get<{ transactions: WireTransaction[] }>(
            `/v1/collections/${id}?expand=transactions`,
          );
          found.push(...(transactions ?? []).map(readTransaction));
        }
      }
      return found;
    },
  };
}
