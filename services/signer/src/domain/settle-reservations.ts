import type { Executed, Floor } from "../budget/settlement.ts";
import { faultPoint } from "../fault-points.ts";
import { type ChainPolicy, referenceSeconds } from "../policy/chain.ts";

/** Reservations that wait for their chain. */
export interface SettlementStore {
  /** The database's time, and whether a reservation of the chain is open. */
  begin(chainName: string): Promise<{ mark: Date; open: boolean }>;
  /** Lowers reservations and usage to what the chain took, once each. Gives how many, and how many took more than was reserved. */
  settle(
    chainName: string,
    executed: readonly Executed[],
    floor: Floor,
    now: Date,
  ): Promise<{ settled: number; underestimated: number }>;
  /** Gives reservations until `mark` the height that no reference block of theirs is above. */
  see(chainName: string, mark: Date, height: bigint): Promise<void>;
  /** Releases open reservations seen below this height that were made or renewed so many seconds ago, by the database's clock. Gives how many. */
  release(chainName: string, seenBelow: bigint, seconds: number): Promise<number>;
}

/** What was read of the chain; see proto signer.v1.Budgets/SettleReservations. */
export interface Settlement {
  readonly chainName: string;
  readonly mark: Date;
  readonly latestHeight: bigint;
  readonly sealedHeight: bigint;
  readonly executed: readonly Executed[];
}

export interface SettleOptions {
  readonly store: SettlementStore;
  readonly now: () => Date;
  chain(name: string): ChainPolicy;
  /** What an inclusion costs on a chain, in 10⁻⁸ FLOW. */
  inclusionFees(chainName: string): number;
  /** Told how many took more than was reserved: the policy's prices are too low. */
  readonly onUnderestimated?: (count: number) => void;
}

/** Blocks for which a transaction's reference block is good; and for how many a node may lag behind the one that a client has asked. */
export const REFERENCE_EXPIRY = 600n;
export const NODE_LAG = 100n;

/** Whether there is something to settle. Errors: UnknownChain. */
export const beginSettlement =
  ({ store, chain }: Pick<SettleOptions, "store" | "chain">) =>
  (chainName: string) =>
    store.begin(chain(chainName).chainName);

/**
 * Settles what executed, then releases what cannot any more. In this order: what executed up to the sealed height must be settled before anything is released by it.
 * Whatever of it is done again changes nothing. Whoever tells it is not believed without end: nothing is released before a reference block can be too old by our own
 * clock, and what executed has taken an inclusion at the least. Errors: UnknownChain.
 */
export const settleReservations =
  ({ store, chain, now, inclusionFees, onUnderestimated = () => undefined }: SettleOptions) =>
  async (settlement: Settlement): Promise<{ settled: number; released: number }> => {
    const { chainName, executed, mark, latestHeight, sealedHeight } = settlement;
    const seconds = referenceSeconds(chain(chainName));
    const floor = { computation: 1, fees: inclusionFees(chainName) };
    const { settled, underestimated } = await store.settle(chainName, executed, floor, now());
    if (settled > 0) await faultPoint("reservations settled");
    if (underestimated > 0) onUnderestimated(underestimated);
    await store.see(chainName, mark, latestHeight);
    const released = await store.release(chainName, sealedHeight - REFERENCE_EXPIRY - NODE_LAG, seconds);
    return { settled, released };
  };
