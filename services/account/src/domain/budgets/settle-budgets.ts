import type { Heights, Lease } from "../ports.ts";

/** A transaction that our paymaster has paid for, whether it worked or not. */
export interface PaidTransaction {
  /** 16 hex digits. */
  readonly proposer: string;
  readonly keyId: number;
  readonly sequenceNumber: bigint;
  readonly computation: bigint;
  /** In 10⁻⁸ FLOW. */
  readonly fees: bigint;
}

/** The chain, as far as settling budgets needs it. */
export interface SettlementChain {
  readonly chainName: string;
  /** The newest sealed block. */
  latestBlock(signal: AbortSignal): Promise<{ height: bigint }>;
  /** The newest block that a transaction may refer to; it may not be sealed. */
  newestBlock(signal: AbortSignal): Promise<{ height: bigint }>;
  /** Returns the paymaster's transactions in these blocks, both ends included; at most `maxEventBlocks`. */
  paidTransactions(from: bigint, to: bigint, signal: AbortSignal): Promise<readonly PaidTransaction[]>;
  readonly maxEventBlocks: bigint;
}

/** The signer's reservations; see proto signer.v1.Budgets. */
export interface BudgetSigner {
  begin(chainName: string): Promise<{ mark: Date; open: boolean }>;
  settle(settlement: {
    readonly chainName: string;
    readonly mark: Date;
    readonly latestHeight: bigint;
    readonly sealedHeight: bigint;
    readonly executed: readonly PaidTransaction[];
  }): Promise<void>;
}

export interface SettleBudgetsOptions {
  /** The heights up to which each chain was reported to the signer. */
  readonly store: Pick<Heights, "lease" | "advance">;
  readonly signer: BudgetSigner;
  readonly chain: SettlementChain;
  readonly lease: Lease;
}

/** Where nothing is known of a chain: far enough back for everything that is reserved now. */
const FIRST_LOOK_BACK = 1_000n;
/** While nothing waits, the height is moved in steps, so that an idle chain costs no write each second. */
const IDLE_STEP = 100n;
/** The most that the signer takes at once. */
const MOST_REPORTED = 10_000;

/**
 * Settles budgets for one round: reports to the signer the fees that were paid in the next range of blocks,
 * by proposal key. The height moves after the signer has them; after a crash they are reported again, which
 * changes nothing. Returns whether there is more to read at once.
 */
export async function settleBudgets(options: SettleBudgetsOptions, signal: AbortSignal): Promise<boolean> {
  const { store, signer, chain, lease } = options;
  const { chainName } = chain;
  const sealed = (await chain.latestBlock(signal)).height;
  const from = await store.lease(chainName, lease, sealed > FIRST_LOOK_BACK ? sealed - FIRST_LOOK_BACK : 0n);
  if (from === undefined || sealed <= from) return false;
  const { mark, open } = await signer.begin(chainName);
  if (!open) {
    // A reservation made from now on executes above a height that was sealed before we asked.
    if (sealed - from >= IDLE_STEP) await store.advance(chainName, { from, to: sealed });
    return false;
  }
  const newest = (await chain.newestBlock(signal)).height;
  const bound = from + chain.maxEventBlocks;
  const to = sealed < bound ? sealed : bound;
  const executed = await chain.paidTransactions(from + 1n, to, signal);
  const settlement = { chainName, mark, latestHeight: newest > sealed ? newest : sealed };
  let rest = executed;
  // A height is reported with its last transaction.
  for (; rest.length > MOST_REPORTED; rest = rest.slice(MOST_REPORTED))
    await signer.settle({ ...settlement, sealedHeight: from, executed: rest.slice(0, MOST_REPORTED) });
  await signer.settle({ ...settlement, sealedHeight: to, executed: rest });
  return (await store.advance(chainName, { from, to })) && to < sealed;
}
