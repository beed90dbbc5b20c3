import { AppError, type Clock } from "@countersign/core";
import type { ChainUse, Executed } from "../budget/settlement.ts";
import { type ChainPolicy, referenceSeconds } from "../policy/chain.ts";

/** Reservations that wait for their chain. */
export interface SettlementStore {
  /** The database's time, and whether a reservation of the chain is open. */
  begin(chainName: string): Promise<{ mark: Date; open: boolean }>;
  /**
   * Lowers reservations and usage to what the chain used, at least `floor`, once each. Returns how many, how
   * many used more than was reserved, and whether none is left for the same call again.
   */
  settle(
    chainName: string,
    executed: readonly Executed[],
    floor: ChainUse,
    now: Date,
  ): Promise<{ settled: number; underestimated: number; isWhole: boolean }>;
  /**
   * Gives reservations until `mark` the height that no reference block of theirs is above. Where there are
   * many, some are left for the next call, with its later height.
   */
  see(chainName: string, mark: Date, height: bigint): Promise<void>;
  /**
   * Releases open reservations that were seen below this height and are this many seconds old, by the
   * database's clock. Returns how many; where there are many, some are left for the next call.
   */
  release(chainName: string, seenBelow: bigint, seconds: number): Promise<number>;
}

/** The transactions read from the chain; see proto signer.v1.Budgets/SettleReservations. */
export interface Settlement {
  readonly chainName: string;
  readonly mark: Date;
  readonly latestHeight: bigint;
  readonly sealedHeight: bigint;
  readonly executed: readonly Executed[];
}

export interface SettleOptions {
  readonly reservations: SettlementStore;
  readonly clock: Clock;
  chain(name: string): ChainPolicy;
  /** Returns the cost of an inclusion on a chain, in 10⁻⁸ FLOW. */
  inclusionFees(chainName: string): number;
  /** Called with how many transactions used more than was reserved: the policy's prices are too low. */
  onUnderestimated(count: number): void;
}

/** Blocks for which a reference block is valid, and blocks by which a node may lag behind another one. */
export const REFERENCE_EXPIRY_BLOCKS = 600n;
export const NODE_LAG_BLOCKS = 100n;

/** Whether there is something to settle. Errors: UnknownChain. */
export const beginSettlement =
  ({ reservations, chain }: Pick<SettleOptions, "reservations" | "chain">) =>
  (chainName: string) =>
    reservations.begin(chain(chainName).chainName);

/**
 * Settles what executed, then releases what can no longer execute: in this order, since everything up to the
 * sealed height must be settled before it releases anything. Repeated, it changes nothing. The caller's
 * report is trusted within limits: nothing is released before its reference block is too old by the signer's
 * own clock, and an executed transaction used at least an inclusion. Errors: UnknownChain; Unavailable where
 * not everything that executed was settled in time.
 *
 * Writes: what executed; the heights that were seen; releases; each a part at a time, in its own commit.
 * Crash: the account service reports the same again.
 */
export const settleReservations =
  ({ reservations, chain, clock, inclusionFees, onUnderestimated }: SettleOptions) =>
  async (settlement: Settlement): Promise<{ settled: number; released: number }> => {
    const { chainName, executed, mark, latestHeight, sealedHeight } = settlement;
    const seconds = referenceSeconds(chain(chainName));
    const floor = { computation: 1, fees: inclusionFees(chainName) };
    const now = clock.now();
    const { settled, underestimated, isWhole } = await reservations.settle(chainName, executed, floor, now);
    if (underestimated > 0) onUnderestimated(underestimated);
    // The caller reports all of these again: nothing may be released before they are settled.
    if (!isWhole) throw new AppError("Unavailable");
    await reservations.see(chainName, mark, latestHeight);
    const seenBelow = sealedHeight - REFERENCE_EXPIRY_BLOCKS - NODE_LAG_BLOCKS;
    const released = await reservations.release(chainName, seenBelow, seconds);
    return { settled, released };
  };
