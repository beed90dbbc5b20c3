import {
  AMOUNTS,
  type Amounts,
  type BudgetWindow,
  combine,
  largest,
  type Reservation,
  reservationId,
} from "./budget.ts";

/** The stored state of a reservation. */
export interface Reserved {
  readonly amounts: Amounts;
  readonly referenceBlock: string;
  /** Ids of the windows that hold its amounts. */
  readonly windowIds: ReadonlySet<string>;
  /** It was reported as executed: every later signature for it makes a new reservation. */
  readonly settled: boolean;
}

/** The stored state of a batch's budgets: reservations and use. */
export interface BudgetState {
  /** By reservationId. */
  readonly reserved: ReadonlyMap<string, Reserved>;
  /** By chain name and window id. */
  readonly used: ReadonlyMap<string, Amounts>;
}

export const usageId = (chainName: string, windowId: string): string => `${chainName} ${windowId}`;

const NOTHING: Amounts = { count: 0, computation: 0, fees: 0 };
const plus = (a: Amounts, b: Amounts): Amounts => combine(a, b, (x, y) => x + y);
const minus = (a: Amounts, b: Amounts): Amounts => combine(a, b, (x, y) => x - y);

/**
 * Returns which of these reservations (one per transaction) do not fit, with the window that is full. They
 * are judged in order, each by what those before it leave. The rules are those of sql/write-batch.sql: a
 * reservation that is new, or has another reference block, counts in full in windows that do not hold it yet;
 * a larger one counts by its growth in windows that do; an equal one counts nothing. A settled reservation
 * with another block or a larger amount counts as new: that the transaction executed is only the account
 * service's report. Windows that a reservation leaves get it back there, which counts from the next batch on.
 */
export function findOverBudget(
  reservations: readonly Reservation[],
  { reserved, used }: BudgetState,
): Map<string, BudgetWindow> {
  const spent = new Map(used);
  const refused = new Map<string, BudgetWindow>();
  for (const requested of reservations) {
    const id = reservationId(requested);
    const known = reserved.get(id);
    const before = known?.amounts ?? NOTHING;
    const amounts = largest(requested.amounts, before);
    const grown = minus(amounts, before);
    if (known && known.referenceBlock === requested.referenceBlock && AMOUNTS.every((amount) => grown[amount] === 0))
      continue;
    const open = known?.settled ? undefined : known;
    const whole = open ? amounts : requested.amounts;
    const added = requested.windows.map((window) => ({
      window,
      at: usageId(requested.chainName, window.id),
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
    for (const { at, more } of added) spent.set(at, plus(spent.get(at) ?? NOTHING, more));
  }
  return refused;
}
