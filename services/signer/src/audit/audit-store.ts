import type { Reservation } from "../budget/budget.ts";
import type { BudgetState } from "../budget/over-budget.ts";
import type { SignedText } from "./audit-key.ts";
import type { AuditRecord } from "./record.ts";

/** Where a chain ends. */
export interface AuditHead {
  chainId: string;
  sequence: bigint;
  hash: string;
}

/** Signatures of a batch that count towards limits of one minute. */
export interface CountedSignatures {
  readonly minute: Date;
  /** By AuditEntry.limitId. */
  readonly counts: ReadonlyMap<string, number>;
  /** The largest count of one id. */
  readonly limit: number;
}

/** The counts and reservations of a batch of records. */
export interface Charge {
  readonly counted: CountedSignatures;
  /** One for each transaction. */
  readonly reservations: readonly Reservation[];
}

/** Records that commit together. */
export interface SignedBatch {
  readonly records: readonly AuditRecord[];
  /** The writer's over batchText; empty where there is no record. */
  readonly signature: Uint8Array;
}

/** A batch with the verdicts that follow from the limits, and the reservations that they allow. */
export interface LimitedBatch {
  readonly batch: SignedBatch;
  readonly reservations: readonly Reservation[];
}

export interface AuditStore {
  startChain(head: AuditHead, startedAt: Date, certificate: SignedText): Promise<void>;
  /**
   * Commits counts, reservations, records and the new head, all or nothing. False, and nothing written, where
   * a limit or a budget would be passed. Errors: AuditHeadMovedError, without records, where the chain has
   * another head: what it counted and reserved may stay, as after a signature that never left.
   */
  commit(head: AuditHead, batch: SignedBatch, charge: Charge): Promise<boolean>;
  /**
   * The same after a commit that returned false: adds the counts, locks the budgets, calls `applyLimits` with
   * the new counts and the state of the budgets, and commits its result, which may be no record.
   */
  commitWithinLimits(
    head: AuditHead,
    charge: Charge,
    applyLimits: (counts: ReadonlyMap<string, number>, budgets: BudgetState) => Promise<LimitedBatch>,
  ): Promise<void>;
}

/** Thrown when the database has another head of a chain than its only writer left there. */
export class AuditHeadMovedError extends Error {
  override readonly name = "AuditHeadMovedError";
}
