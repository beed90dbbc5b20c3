import type { ChainTransaction, TwoFactor, TwoFactorStatus } from "./two-factor.ts";

/** The condition on a row when a step is taken; the database compares and changes in one statement. */
export interface Guard {
  status: TwoFactorStatus;
  /** Exactly this attempt; null: no attempt. */
  attemptId?: string | null;
  /** Of the current message. */
  messageId?: string;
  sealed?: boolean;
  /** Not expired at this time. */
  liveAt?: Date;
  /** Expired by this time. */
  dueBy?: Date;
}

/** The `status` of an event: the status that was reached, or "sealed" for an approved request. */
export type TwoFactorEventStatus = TwoFactorStatus | "sealed";

type Changed = Omit<TwoFactor, "id" | "accountId" | "chainName" | "app" | "userKey" | "signIn" | "requestedAt">;

/**
 * One step of a request: the first of several concurrent ones is taken, with one event in the same commit.
 */
export interface Step {
  when: Guard;
  set: Partial<Changed>;
  /** The event's status; absent: no event. */
  emit?: TwoFactorEventStatus;
}

/** How long a submission may be under way before it is reconciled. */
export const ATTEMPT_TIMEOUT_MS = 15_000;
/**
 * After this time an approved request is reconciled for the first time; then whenever the sweeper's lease
 * ends.
 */
const SEAL_POLL_MS = 1_000;

const later = (now: Date, ms: number) => new Date(now.getTime() + ms);
/** Pending, in time, and no approval has begun. */
const open = (now: Date): Guard => ({ status: "pending", attemptId: null, liveAt: now });
const endAttempt = { attemptId: null, attemptStartedAt: null, approverId: null, reconcileAt: null } as const;

/** Sets a new message with a new id, unless the message was renewed since it was read. */
export const renewing = (
  seen: TwoFactor,
  next: { messageId: string; message: Uint8Array; destDeviceId?: string },
  now: Date,
): Step => ({ when: { ...open(now), messageId: seen.messageId }, set: next, emit: "pending" });

/** pending → rejected, not while an approval is under way. */
export const rejecting = (now: Date, rejectedByKey: string, inRecovery: boolean): Step => ({
  when: open(now),
  set: { status: "rejected", rejectedAt: now, rejectedByKey, rejectedInRecovery: inRecovery },
  emit: "rejected",
});

/** pending → expired, once due; not while an approval is under way. */
export const expiring = (now: Date): Step => ({
  when: { status: "pending", attemptId: null, dueBy: now },
  set: { status: "expired" },
  emit: "expired",
});

/** Commits an approval of the message that was signed: from here on it can only be submitted or abandoned. */
export const committingAttempt = (
  seen: TwoFactor,
  attempt: { attemptId: string; approverId: string },
  now: Date,
): Step => ({
  when: { ...open(now), messageId: seen.messageId },
  set: { ...attempt, attemptStartedAt: now, reconcileAt: later(now, ATTEMPT_TIMEOUT_MS) },
});

/** Ends an attempt that was not submitted and never will be: the request can be decided again. */
export const abandoningAttempt = (attemptId: string): Step => ({
  when: { status: "pending", attemptId },
  set: endAttempt,
});

/** Leaves an attempt whose outcome is unknown to be reconciled at once. */
export const leavingUnconfirmed = (attemptId: string, now: Date): Step => ({
  when: { status: "pending", attemptId },
  set: { reconcileAt: now },
});

/** Returns whether the outcome of a request's attempt, if there is one, is not final. */
export const isUnconfirmed = ({ status, sealedAt }: TwoFactor): boolean =>
  status === "pending" || (status === "approved" && sealedAt === null);

/**
 * Lets an unconfirmed attempt be reconciled at once; undefined where there is none, or it may be under way:
 * reconciling that would end it.
 */
export function resuming(request: TwoFactor, now: Date): Step | undefined {
  const { status, attemptId, attemptStartedAt } = request;
  if (!isUnconfirmed(request) || attemptId === null || attemptStartedAt === null) return undefined;
  if (now.getTime() - attemptStartedAt.getTime() < ATTEMPT_TIMEOUT_MS) return undefined;
  return { when: { status, attemptId, sealed: false }, set: { reconcileAt: now } };
}

/** pending → approved: the attempt's transaction was submitted. */
export const markingApproved = (attemptId: string, result: ChainTransaction, now: Date): Step => ({
  when: { status: "pending", attemptId },
  set: { status: "approved", result, reconcileAt: later(now, SEAL_POLL_MS) },
  emit: "approved",
});

/** pending → approved by a transaction that the user sent and the chain has sealed. */
export const markingApprovedAndSealed = (
  sealed: { approverId: string; result: ChainTransaction; keyIndex: number },
  now: Date,
): Step => ({ when: open(now), set: { status: "approved", ...sealed, sealedAt: now }, emit: "approved" });

/** Records that the approved transaction is sealed and the key is on the account. */
export const sealing = (attemptId: string, result: ChainTransaction, keyIndex: number, now: Date): Step => ({
  when: { status: "approved", attemptId, sealed: false },
  set: { result, keyIndex, sealedAt: now, reconcileAt: null },
  emit: "sealed",
});

/** approved → failed: the chain refused the transaction. */
export const failing = (attemptId: string): Step => ({
  when: { status: "approved", attemptId, sealed: false },
  set: { status: "failed", reconcileAt: null },
  emit: "failed",
});

/** approved → finished, once sealed: the new device gets its session. */
export const finishing: Step = {
  when: { status: "approved", sealed: true },
  set: { status: "finished" },
  emit: "finished",
};

/** Returns whether a step may be taken now; the Postgres store has the same rule in SQL. */
export function guardHolds(row: TwoFactor, when: Guard): boolean {
  return (
    row.status === when.status &&
    (when.attemptId === undefined || row.attemptId === when.attemptId) &&
    (when.messageId === undefined || row.messageId === when.messageId) &&
    (when.sealed === undefined || (row.sealedAt !== null) === when.sealed) &&
    (when.liveAt === undefined || row.expiresAt > when.liveAt) &&
    (when.dueBy === undefined || row.expiresAt <= when.dueBy)
  );
}
