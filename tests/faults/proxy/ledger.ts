import { type AccessApi, type AddedKey, addedKeys, createAccessApi, type FlowTransaction } from "@countersign/flow";
import { transactionsAfter } from "../chain-transactions.ts";

/** The history of the chain, read from its access node without the proxies. */
export interface Ledger {
  /** Every key that was ever added to an account. */
  keysAdded(): Promise<AddedKey[]>;
  /** Every transaction of the blocks after `height`, as the node has it. */
  transactionsAfter(height: bigint): Promise<FlowTransaction[]>;
  height(): Promise<bigint>;
}

const PAGE = 250n;

/** Reads the chain behind `accessNode`. */
export function createLedger(accessNode: string, access: AccessApi = createAccessApi({ baseUrl: accessNode })): Ledger {
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
      return (await transactionsAfter(accessNode, access, after)).map(({ transaction }) => transaction);
    },
  };
}
