import { isAppError, type TraceParent } from "@countersign/core";
import { type FlowTransaction, MAX_ACCOUNTS_PER_CREATION } from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import type { DeployedAccount } from "./chain.ts";

/**
 * assigned: has deployments and a proposal key, nothing is committed as signed; signed: the bytes are
 * committed and may be on the chain; sealed and failed are final.
 */
export type CreationState = "assigned" | "signed" | "sealed" | "failed";

/** A creation as its runner holds it. */
export interface Creation {
  readonly id: string;
  readonly chainName: string;
  readonly keyIndex: number;
  /** The number that its key remembered, or the chain's when it was signed; a replacement keeps it. */
  readonly sequenceNumber: bigint | undefined;
  readonly state: CreationState;
  readonly accountIds: readonly string[];
  /** In the order of accountIds; empty until signed. */
  readonly serverKeys: readonly string[];
  /** The version of the serverKeys. It is bound even if another one is current by then. */
  readonly serverKeyVersion: number;
  readonly userKeys: readonly PublicKey[];
  /** The requests that asked for the accounts; none where traces are not exported. */
  readonly traces: readonly TraceParent[];
  readonly transaction: FlowTransaction | undefined;
  readonly transactionId: string;
  readonly referenceHeight: bigint | undefined;
}

/** One account of a finished creation. */
export interface CreatedAccount extends Omit<DeployedAccount, "serverKey"> {
  readonly accountId: string;
}

/**
 * The next step after a failed creation: it is halved until one account fails alone. A limit never grows.
 */
export type FailurePlan = { readonly requeueWithLimit: number } | { readonly failed: true };

/**
 * Halves a failed batch: one bad key must not fail nine others. `retry`: the batch itself was not at fault.
 */
export function planAfterFailure(size: number, retry: boolean): FailurePlan {
  if (retry) return { requeueWithLimit: MAX_ACCOUNTS_PER_CREATION };
  return size > 1 ? { requeueWithLimit: Math.ceil(size / 2) } : { failed: true };
}

/** Refusals that the next window, or the operator, takes back. */
const FOR_NOW: readonly (string | undefined)[] = ["BudgetExceeded", "SwitchedOff"];

/**
 * Returns whether the signer refuses a creation only for now: it keeps its accounts and its key and is
 * requested again.
 */
export const isRefusedForNow = (error: unknown): boolean =>
  isAppError(error, "SigningRefused") && FOR_NOW.includes(error.metadata.reason);
