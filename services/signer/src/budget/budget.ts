import type { BudgetRule } from "./budget-rules.ts";

/**
 * The use of a budget by one transaction: a count of one (a creation: of its accounts), computation, and fees
 * in 10⁻⁸ FLOW.
 */
export interface Amounts {
  readonly count: number;
  readonly computation: number;
  readonly fees: number;
}
export const AMOUNTS = ["count", "computation", "fees"] as const;

/** The reserved or used part of a budget in a window that is not over. */
export interface BudgetUse extends Amounts {
  readonly chainName: string;
  /** See BudgetWindow. */
  readonly windowId: string;
  readonly endsAt: Date;
}

/** One budget in one of its windows. */
export interface BudgetWindow {
  /** `<scope>/<whose>/<seconds>/<number of the window since 1970>` */
  readonly id: string;
  readonly endsAt: Date;
  /** Absent: no limit. */
  readonly limits: { readonly [amount in keyof Amounts]?: number | undefined };
}

/**
 * The most that one transaction may use. It does not grow with the number of its signatures: only one
 * transaction of a (proposer, key, sequence number) ever executes.
 */
export interface Reservation {
  readonly chainName: string;
  /** `<proposer>/<key id>/<sequence number>` */
  readonly proposal: string;
  /** Of several in one batch all, so that none of them hides behind one that is known. */
  readonly referenceBlock: string;
  readonly amounts: Amounts;
  readonly windows: readonly BudgetWindow[];
}

const OPEN_FEES = "open/";
/** Never over: open fees go down when transactions execute or expire, and not with time. */
export const OPEN_FEES_END = new Date("9999-01-01T00:00:00Z");

/**
 * Returns the window for the fees of an account's transactions that are signed and neither executed nor
 * expired. Without this limit an account could fill its app's budget with transactions that it never sends.
 */
export const openFeesWindow = (whose: string, fees: number): BudgetWindow => ({
  id: `${OPEN_FEES}${whose}/0/0`,
  endsAt: OPEN_FEES_END,
  limits: { fees },
});
export const isOpenFees = (windowId: string): boolean => windowId.startsWith(OPEN_FEES);

/** The kinds of owners of a budget. */
export const BUDGET_SCOPES = ["account", "app", "service", "backend", "creation"] as const;
export type BudgetScope = (typeof BUDGET_SCOPES)[number];

/** The part of the operator's policy that budgets need. */
export interface BudgetPolicy {
  readonly budgets: Readonly<Record<BudgetScope, readonly BudgetRule[]>>;
  /** Limit of an account's open fees (see openFeesWindow), in 10⁻⁸ FLOW. */
  readonly openFeesCap: number;
  /** Prices by which fees are estimated. */
  pricesOf(chainName: string): FeePrices;
}

/** Returns the windows of a scope's budgets at this time. */
export function windowsAt(
  scope: BudgetScope,
  whose: string,
  rules: readonly BudgetRule[],
  now: Date,
): readonly BudgetWindow[] {
  return rules.map(({ windowSeconds, count, computation, fees }) => {
    const number = Math.floor(now.getTime() / 1000 / windowSeconds);
    return {
      id: `${scope}/${whose}/${windowSeconds}/${number}`,
      endsAt: new Date((number + 1) * windowSeconds * 1000),
      limits: { count, computation, fees },
    };
  });
}

/** Returns the parts of a window's id. */
export function readWindowId(id: string): { scope: string; whose: string; windowSeconds: number } {
  const parts = id.split("/");
  return { scope: parts[0]!, whose: parts.slice(1, -2).join("/"), windowSeconds: Number(parts.at(-2)) };
}

export const proposalOf = (key: { address: string; keyId: number; sequenceNumber: bigint }): string =>
  `${key.address}/${key.keyId}/${key.sequenceNumber}`;

/** Returns the id of a reservation, unique over all chains. */
export const reservationId = ({ chainName, proposal }: Pick<Reservation, "chainName" | "proposal">): string =>
  `${chainName} ${proposal}`;

/** Prices of a transaction by its gas limit; the real fees are lower. */
export interface FeePrices {
  /** In 10⁻⁸ FLOW. */
  readonly inclusion: number;
  /** In 10⁻⁸ FLOW, for each unit of computation. */
  readonly computation: number;
}
export const estimateFees = (gasLimit: number, { inclusion, computation }: FeePrices): number =>
  Math.ceil(inclusion + gasLimit * computation);

/**
 * Merges the reservations of a batch: one for each transaction, with the largest of each amount and every
 * window that one of its signatures names.
 */
export function mergeReservations(all: readonly Reservation[]): Reservation[] {
  const merged = new Map<string, Reservation>();
  for (const each of all) {
    const id = reservationId(each);
    const known = merged.get(id);
    if (!known) {
      merged.set(id, each);
      continue;
    }
    const windows = new Map([...known.windows, ...each.windows].map((window) => [window.id, window]));
    const blocks = new Set([...known.referenceBlock.split(","), each.referenceBlock]);
    merged.set(id, {
      ...each,
      referenceBlock: [...blocks].sort().join(","),
      amounts: largest(known.amounts, each.amounts),
      windows: [...windows.values()],
    });
  }
  return [...merged.values()];
}

/** Returns what `of` makes of each amount of two. */
export const combine = (a: Amounts, b: Amounts, of: (a: number, b: number) => number): Amounts => ({
  count: of(a.count, b.count),
  computation: of(a.computation, b.computation),
  fees: of(a.fees, b.fees),
});

export const largest = (a: Amounts, b: Amounts): Amounts => combine(a, b, Math.max);
