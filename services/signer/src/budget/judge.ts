import { AMOUNTS, type Amounts, type BudgetWindow, most, type Reservation, reservationId } from "./budget.ts";

/** A reservation as it stands. */
export interface Reserved {
  readonly amounts: Amounts;
  readonly referenceBlock: string;
  /** Ids of the windows that hold its amounts. */
  readonly windowIds: ReadonlySet<string>;
  /** It is told of as executed: whatever is signed for it from now on is a new reservation. */
  readonly settled: boolean;
}

/** What is reserved and used of a batch's budgets, as it stands in the database. */
export interface BudgetState {
  /** By reservationId. */
  readonly reserved: ReadonlyMap<string, Reserved>;
  /** By chain name and window id. */
  readonly used: ReadonlyMap<string, Amounts>;
}

export const usageId = (chainName: string, windowId: string): string => `${chainName} ${windowId}`;

const NOTHING: Amounts = { count: 0, computation: 0, fees: 0 };
const minus = (a: Amounts, b: Amounts): Amounts => ({
  count: a.count - b.count,
  computation: a.computation - b.computation,
  fees: a.fees - b.fees,
});

/**
 * Which of these reservations (one for each transaction) have no room any more, and the window that is full. They are looked at one after the other, each by what those
 * before it have left. The rule of the batch's statement in prisma-audit-store.ts is the same: what is new, or has another reference block, counts in full in
 * windows that do not hold it yet; what grows counts by its growth in those that do; what is known counts nothing. What was settled and comes with another block or
 * more of anything is new: that it was executed is somebody's word.
 */
export function findOverBudget(
  reservations: readonly Reservation[],
  { reserved, used }: BudgetState,
): Map<string, BudgetWindow> {
  const spent = new Map(used);
  const refused = new Map<string, BudgetWindow>();
  for (const wish of reservations) {
    const id = reservationId(wish);
    const known = reserved.get(id);
    const before = known?.amounts ?? NOTHING;
    const amounts = most(wish.amounts, before);
    const grown = minus(amounts, before);
    if (known && known.referenceBlock === wish.referenceBlock && AMOUNTS.every((amount) => grown[amount] === 0))
      continue;
    const open = known?.settled ? undefined : known;
    const whole = open ? amounts : wish.amounts;
    const added = wish.windows.map((window) => ({
      window,
      at: usageId(wish.chainName, window.id),
      more: open?.windowIds.has(window.id) ? grown : whole,
    }));
    const full = added.find(({ window, at, more }) =>
      AMOUNTS.some(
        (amount) =>
          more[amount] > 0 &&
          (spent.get(at)?.[amount] ?? 0) + more[amount] > (window.limits[amount] ?? Number.POSITIVE_INFINITY),
      ),
    );
    if (full) {
      refused.set(id, full.window);
      continue;
    }
    for (const { at, more } of added) spent.set(at, minus(spent.get(at) ?? NOTHING, minus(NOTHING, more)));
  }
  return refused;
}
