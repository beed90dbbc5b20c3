import { type AccessApi, type FlowTransaction, transactionId } from "@countersign/flow";

/** A transaction on the chain, successful or not. */
export interface ChainTransaction {
  id: string;
  transaction: FlowTransaction;
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
interface WireBlock {
  payload: { collection_guarantees: { collection_id: string }[] };
}

const BLOCKS = 50n;
const text = (base64: string): string => Buffer.from(base64, "base64").toString("utf8");
const signature = ({ address, key_index, signature: bytes }: WireSignature) => ({
  address,
  keyId: Number(key_index),
  signature: Buffer.from(bytes, "base64").toString("hex"),
});

function toTransaction(wire: WireTransaction): ChainTransaction {
  const { address, key_index, sequence_number } = wire.proposal_key;
  const transaction: FlowTransaction = {
    script: text(wire.script),
    arguments: wire.arguments.map(text),
    referenceBlockId: wire.reference_block_id,
    gasLimit: BigInt(wire.gas_limit),
    proposalKey: { address, keyId: Number(key_index), sequenceNumber: BigInt(sequence_number) },
    payer: wire.payer,
    authorizers: wire.authorizers,
    payloadSignatures: wire.payload_signatures.map(signature),
    envelopeSignatures: wire.envelope_signatures.map(signature),
  };
  // The id covers every byte: the decoded transaction is the one on chain.
  if (transactionId(transaction) !== wire.id) throw new Error(`transaction ${wire.id} was not read as it stands`);
  return { id: wire.id, transaction };
}

/** Returns every transaction of the blocks after `after`, as the node behind `accessNode` has it. */
export async function transactionsAfter(
  accessNode: string,
  access: AccessApi,
  after: bigint,
): Promise<ChainTransaction[]> {
  const get = async <T>(path: string): Promise<T> => {
    const response = await fetch(accessNode + path);
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  };
  const last = (await access.latestSealedBlock()).height;
  const found: ChainTransaction[] = [];
  for (let from = after + 1n; from <= last; from += BLOCKS) {
    const to = from + BLOCKS - 1n < last ? from + BLOCKS - 1n : last;
    const blocks = await get<WireBlock[]>(`/v1/blocks?start_height=${from}&end_height=${to}&expand=payload`);
    for (const { collection_id } of blocks.flatMap((block) => block.payload.collection_guarantees ?? [])) {
      const { transactions } = await get<{ transactions: WireTransaction[] | null }>(
        `/v1/collections/${collection_id}?expand=transactions`,
      );
      found.push(...(transactions ?? []).map(toTransaction));
    }
  }
  return found;
}
