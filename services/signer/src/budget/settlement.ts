import { type Amounts, isOpenFees } from "./budget.ts";

/** The use of the chain by a transaction; fees in 10⁻⁸ FLOW. */
export type ChainUse = Pick<Amounts, "computation" | "fees">;

/** A transaction that the chain has executed and the paymaster paid for. */
export interface Executed extends ChainUse {
  readonly proposal: string;
}

/** An open reservation: the windows with these ids hold its amounts. */
export interface OpenReservation extends ChainUse {
  readonly proposal: string;
  readonly windowIds: readonly string[];
}

/** The amounts that windows get back, by their ids. */
export type Returned = Map<string, ChainUse>;

function addReturned(returned: Returned, windowIds: readonly string[], computation: number, fees: number): void {
  for (const id of windowIds) {
    const before = returned.get(id);
    returned.set(id, { computation: (before?.computation ?? 0) + computation, fees: (before?.fees ?? 0) + fees });
  }
}

/**
 * Returns the settled proposals and what each window gets back: what was reserved less what the chain took,
 * which counts as at least `floor` and at most what was reserved. An account's open fees get all of it back.
 */
export function settle(
  open: readonly OpenReservation[],
  executed: readonly Executed[],
  floor: ChainUse,
): { settled: string[]; returned: Returned; underestimated: number } {
  const byProposal = new Map(executed.map((each) => [each.proposal, each]));
  const returned: Returned = new Map();
  let underestimated = 0;
  const settled = open.flatMap((reservation) => {
    const took = byProposal.get(reservation.proposal);
    if (!took) return [];
    if (took.fees > reservation.fees || took.computation > reservation.computation) underestimated += 1;
    const computation = Math.min(Math.max(took.computation, floor.computation), reservation.computation);
    const fees = Math.min(Math.max(took.fees, floor.fees), reservation.fees);
    const openFees = reservation.windowIds.filter(isOpenFees);
    const others = reservation.windowIds.filter((id) => !isOpenFees(id));
    addReturned(returned, others, reservation.computation - computation, reservation.fees - fees);
    addReturned(returned, openFees, reservation.computation, reservation.fees);
    return [reservation.proposal];
  });
  return { settled, returned, underestimated };
}

/** Returns all of their computation and fees to the windows. Their count stays. */
export function release(open: readonly OpenReservation[]): Returned {
  const returned: Returned = new Map();
  for (const { windowIds, computation, fees } of open) addReturned(returned, windowIds, computation, fees);
  return returned;
}
