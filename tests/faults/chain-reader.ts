import {
  type AddedKey,
  addedKeys,
  createAccessApi,
  envelopeMessage,
  type FlowTransaction,
  payloadMessage,
  transactionId,
} from "@countersign/flow";

/** A transaction that stands on the chain, whether it worked or not. */
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
const EVENT_BLOCKS = 250n;
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
  // What was read must be what is there: else the messages below would be others than were signed.
  if (transactionId(transaction) !== wire.id) throw new Error(`transaction ${wire.id} was not read as it stands`);
  return { id: wire.id, transaction };
}

/** Reads the emulator's chain as a whole, for what must be true of it. */
export function chainReader(accessNode: string) {
  const access = createAccessApi({ baseUrl: accessNode });
  const get = async <T>(path: string): Promise<T> => {
    const response = await fetch(accessNode + path);
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    return (await response.json()) as T;
  };
  const height = async () => (await access.latestSealedBlock()).height;

  return {
    access,
    height,
    /** All transactions after block `after`. */
    async transactions(after: bigint): Promise<ChainTransaction[]> {
      const last = await height();
      const found: ChainTransaction[] = [];
      for (let from = after + 1n; from <= last; from += BLOCKS) {
        const to = from + BLOCKS - 1n < last ? from + BLOCKS - 1n : last;
        const blocks = await get<WireBlock[]>(`/v1/blocks?start_height=${from}&end_height=${to}&expand=payload`);
        for (const { collection_id } of blocks.flatMap((block) => block.payload.collection_guarantees)) {
          const { transactions } = await get<{ transactions: WireTransaction[] }>(
            `/v1/collections/${collection_id}?expand=transactions`,
          );
          found.push(...transactions.map(toTransaction));
        }
      }
      return found;
    },
    /** What transactions after block `after` added to accounts, by public key. */
    async keysAdded(after: bigint): Promise<Map<string, AddedKey[]>> {
      const last = await height();
      const byKey = new Map<string, AddedKey[]>();
      for (let from = after + 1n; from <= last; from += EVENT_BLOCKS) {
        const to = from + EVENT_BLOCKS - 1n < last ? from + EVENT_BLOCKS - 1n : last;
        for (const added of addedKeys(await access.events("flow.AccountKeyAdded", from, to))) {
          byKey.set(added.publicKey, [...(byKey.get(added.publicKey) ?? []), added]);
        }
      }
      return byKey;
    },
    /** How many accounts were made after block `after`. */
    async accountsMade(after: bigint): Promise<number> {
      const last = await height();
      let count = 0;
      for (let from = after + 1n; from <= last; from += EVENT_BLOCKS) {
        const to = from + EVENT_BLOCKS - 1n < last ? from + EVENT_BLOCKS - 1n : last;
        count += (await access.events("flow.AccountCreated", from, to)).length;
      }
      return count;
    },
  };
}

/** Each message of a transaction with who signed it: the payload's signers, and the envelope's. */
export function signedMessages({
  transaction,
}: ChainTransaction): { address: string; keyId: number; message: Uint8Array }[] {
  const { payloadSignatures, envelopeSignatures } = transaction;
  return [
    ...payloadSignatures.map(({ address, keyId }) => ({ address, keyId, message: payloadMessage(transaction) })),
    ...envelopeSignatures.map(({ address, keyId }) => ({ address, keyId, message: envelopeMessage(transaction) })),
  ];
}
