import { type Clock, chainNamed } from "@countersign/core";
import { activeKey } from "@countersign/flow";
import { cadenceAddressOf, keysAfter } from "../accounts/account-on-chain.ts";
import type { AccountsOnChains, KeyAddition, KeyAdditionStore } from "./key-addition.ts";

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
    const address = await cadenceAddressOf(accounts, accountId, found.chainName);
    const now = await keysAfter(chain, found.transactionId, address, signal);
    if (!now) return found;
    const end = endOf(found, now, chain.maxReferenceAge);
    if (end) await additions.finish(attemptId, end);
    // No node has the bytes: the first submission may have been lost.
    else if (now.status === "unknown") await chain.submit(found.transaction, signal);
    return { ...found, ...end };
  };

type End = { state: "sealed"; keyIndex: number } | { state: "failed" };

/**
 * Returns how an attempt has ended; undefined while it may still execute. A key on the account counts as
 * sealed, also where this id failed: the same payload may have been sealed under another one (a signature's
 * n−s twin). An attempt without its key has failed if the chain executed or refused it, or it is too old.
 */
function endOf(
  { referenceHeight, userKey }: KeyAddition,
  { status, height, keys }: NonNullable<Awaited<ReturnType<typeof keysAfter>>>,
  maxReferenceAge: bigint,
): End | undefined {
  const key = activeKey(keys, "user", userKey.publicKey);
  if (key) return { state: "sealed", keyIndex: key.index };
  const over = status === "failed" || status === "sealed" || height - referenceHeight > maxReferenceAge;
  return over ? { state: "failed" } : undefined;
}
