import { type AddedKey, addedKeys, createAccessApi, envelopeMessage, payloadMessage } from "@countersign/flow";
import { type ChainTransaction, transactionsAfter } from "./chain-transactions.ts";

const EVENT_BLOCKS = 250n;

/** Reads the emulator's chain as a whole, for what must be true of it. */
export function chainReader(accessNode: string) {
  const access = createAccessApi({ baseUrl: accessNode });
  const height = async () => (await access.latestSealedBlock()).height;

  return {
    access,
    height,
    /** All transactions after block `after`. */
    transactions: (after: bigint) => transactionsAfter(accessNode, access, after),
    /** Returns the keys that transactions after block `after` added to accounts, by public key. */
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

/** Returns each message of a transaction with who signed it: the payload's signers, and the envelope's. */
export function signedMessages({
  transaction,
}: ChainTransaction): { address: string; keyId: number; message: Uint8Array }[] {
  const { payloadSignatures, envelopeSignatures } = transaction;
  return [
    ...payloadSignatures.map(({ address, keyId }) => ({ address, keyId, message: payloadMessage(transaction) })),
    ...envelopeSignatures.map(({ address, keyId }) => ({ address, keyId, message: envelopeMessage(transaction) })),
  ];
}
