import type { Clock } from "@countersign/core";
import { cadenceAddressOf, chainNamed, userKeyOf } from "../accounts/account-on-chain.ts";
import type { AccountStore } from "../ports.ts";
import type { KeyAddition, KeyAdditionChain, KeyAdditionStore } from "./key-addition.ts";

export interface ReconcileKeyAdditionOptions {
  readonly accounts: Pick<AccountStore, "find">;
  readonly chains: ReadonlyMap<string, KeyAdditionChain>;
  readonly additions: KeyAdditionStore;
  readonly clock: Clock;
}

const NO_KEY = { algorithm: "ES256", publicKey: "" } as const;

/**
 * Returns the state of an attempt; undefined for another account's. Committed bytes are submitted again and
 * never signed again. An attempt that committed nothing is closed for good, so that a late call cannot commit
 * it.
 */
export const reconcileKeyAddition =
  ({ accounts, chains, additions, clock }: ReconcileKeyAdditionOptions) =>
  async (attemptId: string, accountId: string, signal: AbortSignal): Promise<KeyAddition | undefined> => {
    const found =
      (await additions.find(attemptId)) ??
      (await additions.commit(
        {
          attemptId,
          accountId,
          chainName: "",
          userKey: NO_KEY,
          state: "abandoned",
          transaction: undefined,
          transactionId: "",
          referenceHeight: 0n,
          keyIndex: -1,
        },
        clock.now(),
      ));
    if (found.accountId !== accountId) return undefined;
    if (found.state !== "submitted" || !found.transaction) return found;
    const chain = chainNamed(chains, found.chainName);
    const end = await endOf(found, chain, await cadenceAddressOf(accounts, accountId, found.chainName), signal);
    if (end === undefined) {
      if ((await chain.keyAdditionOutcome(found.transactionId, signal)).status === "unknown") {
        await chain.submit(found.transaction, signal);
      }
      return found;
    }
    await additions.finish(attemptId, end);
    return { ...found, ...end };
  };

type End = { state: "sealed"; keyIndex: number } | { state: "failed" };

/**
 * Looks for the effect first: the same payload may have been sealed under another id (a signature's n−s
 * twin), and then the key is there. Failed is only what can never execute any more: refused by the chain, or
 * too old.
 */
async function endOf(
  { transactionId, referenceHeight, userKey }: KeyAddition,
  chain: KeyAdditionChain,
  address: string,
  signal: AbortSignal,
): Promise<End | undefined> {
  const { status } = await chain.keyAdditionOutcome(transactionId, signal);
  if (status === "pending") return undefined;
  // Read before the key: what is too old now cannot execute after it.
  const { height } = await chain.latestBlock(signal);
  const key = userKeyOf(await chain.accountKeys(address, signal), userKey);
  if (key) return { state: "sealed", keyIndex: key.index };
  const over = status === "failed" || status === "sealed" || height - referenceHeight > chain.maxReferenceAge;
  return over ? { state: "failed" } : undefined;
}
