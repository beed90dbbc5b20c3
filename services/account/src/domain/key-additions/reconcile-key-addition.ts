import type { Clock } from "@countersign/core";
import { activeKey } from "@countersign/flow";
import { cadenceAddressOf, chainNamed } from "../accounts/account-on-chain.ts";
import type { AccountsOnChains, KeyAddition, KeyAdditionChain, KeyAdditionStore } from "./key-addition.ts";

export interface ReconcileKeyAdditionOptions extends AccountsOnChains {
  readonly additions: KeyAdditionStore;
  readonly clock: Clock;
}

const NO_KEY = { algorithm: "ES256", publicKey: "" } as const;

/**
 * Returns the state of an attempt; undefined for another account's. Committed bytes are submitted again and
 * never signed again. An attempt that committed nothing is abandoned for good, so that a late call cannot
 * commit it.
 * Errors: those of the chain; nothing is changed then.
 *
 * Writes: the abandoned attempt, or the outcome of one that has ended.
 * Crash: repeating the call reads the chain again.
 * Race: the first commit under an attempt's id stays, this one or SubmitKeyAddition's.
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
      // No node has the bytes: the first submission may have been lost.
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
 * Returns how an attempt has ended; undefined while it may still execute. A key on the account counts as
 * sealed, also where this id failed: the same payload may have been sealed under another one (a signature's
 * n−s twin). An attempt without its key has failed if the chain executed or refused it, or it is too old.
 */
async function endOf(
  { transactionId, referenceHeight, userKey }: KeyAddition,
  chain: KeyAdditionChain,
  address: string,
  signal: AbortSignal,
): Promise<End | undefined> {
  const { status, height: executedAt = 0n } = await chain.keyAdditionOutcome(transactionId, signal);
  if (status === "pending") return undefined;
  // Read before the keys: an attempt that is too old at this height cannot execute after they are read.
  const { height } = await chain.latestBlock(signal);
  // Its own block counts: the newest one may be that of a node which lags behind.
  const keys = await chain.accountKeys(address, signal, executedAt > height ? executedAt : height);
  const key = activeKey(keys, "user", userKey.publicKey);
  if (key) return { state: "sealed", keyIndex: key.index };
  const over = status === "failed" || status === "sealed" || height - referenceHeight > chain.maxReferenceAge;
  return over ? { state: "failed" } : undefined;
}
