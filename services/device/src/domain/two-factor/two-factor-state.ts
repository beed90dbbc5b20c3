import type { ChainTransaction, TwoFactor, TwoFactorStatus } from "./two-factor.ts";

/** Every change of status there is. Nothing leaves rejected, expired, finished and failed. */
export const TRANSITIONS: Readonly<Record<TwoFactorStatus, readonly TwoFactorStatus[]>> = {
  pending: ["approved", "rejected", "expired"],
  approved: ["finished", "failed"],
  rejected: [],
  expired: [],
  finished: [],
  failed: [],
};

/** What a row must still be when a step is taken; the database compares and changes in one statement. */
export interface Guard {
  status: TwoFactorStatus;
  /** Exactly this attempt, or none. */
  attemptId?: string | null;
  /** Still the current one. */
  requestId?: string;
  sealed?: boolean;
  /** Not expired at this time. */
  liveAt?: Date;
  /** Expired by this time. */
  dueBy?: Date;
}

/** What events tell: each status as it is reached, and the seal of an approved request, which is no status. */
export type TwoFactorNews = TwoFactorStatus | "sealed";

type Changed = Omit<TwoFactor, "id" | "accountId" | "chainName" | "app" | "userKey" | "signIn" | "requestedAt">;

/** One step of a request: taken by whoever comes first, and told by one event that commits with it. */
export interface Step {
  when: Guard;
  set: Partial<Changed>;
  /** The event's status; absent where nobody is told. */
  tell?: TwoFactorNews;
}

/** How long a submission may be under way before somebody asks what became of it, in milliseconds. */
export const ATTEMPT_MS = 15_000;
/** How often the chain is asked about an approved request, in milliseconds. */
export const SEAL_POLL_MS = 1_000;

const later = (now: Date, ms: number) => new Date(now.getTime() + ms);
/** Nobody has begun to approve, and there is time left. */
const open = (now: Date): Guard => ({ status: "pending", attemptId: null, liveAt: now });
const endAttempt = { attemptId: null, attemptStartedAt: null, approvedBy: null, settleAt: null } as const;

/** A new message under a new request id, unless somebody renewed it since it was read. */
export const renewing = (
  seen: TwoFactor,
  next: { requestId: string; message: Uint8Array; destDeviceId?: string },
  now: Date,
): Step => ({ when: { ...open(now), requestId: seen.requestId }, set: next, tell: "pending" });

/** pending → rejected, not while an approval is under way. */
export const rejecting = (now: Date, rejectedBy: string, inRecovery: boolean): Step => ({
  when: open(now),
  set: { status: "rejected", rejectedAt: now, rejectedBy, rejectedInRecovery: inRecovery },
  tell: "rejected",
});

/** pending → expired, once due; an approval that is under way goes first. */
export const expiring = (now: Date): Step => ({
  when: { status: "pending", attemptId: null, dueBy: now },
  set: { status: "expired" },
  tell: "expired",
});

/** Commits an approval of the message that was signed: from here on it can only be submitted or given up. */
export const beginningAttempt = (
  seen: TwoFactor,
  attempt: { attemptId: string; approvedBy: string },
  now: Date,
): Step => ({
  when: { ...open(now), requestId: seen.requestId },
  set: { ...attempt, attemptStartedAt: now, settleAt: later(now, ATTEMPT_MS) },
});

/** An attempt that never was submitted and never will be: the request waits again. */
export const givingUpAttempt = (attemptId: string): Step => ({
  when: { status: "pending", attemptId },
  set: endAttempt,
});

/** The outcome of an attempt is not known: the next one to look asks for it. */
export const doubtingAttempt = (attemptId: string, now: Date): Step => ({
  when: { status: "pending", attemptId },
  set: { settleAt: now },
});

/** pending → approved: the attempt's transaction is on its way. */
export const approving = (attemptId: string, result: ChainTransaction, now: Date): Step => ({
  when: { status: "pending", attemptId },
  set: { status: "approved", result, settleAt: later(now, SEAL_POLL_MS) },
  tell: "approved",
});

/** pending → approved by a transaction that the user sent and the chain has sealed. */
export const approvingSealed = (
  sealed: { approvedBy: string; result: ChainTransaction; keyIndex: number },
  now: Date,
): Step => ({ when: open(now), set: { status: "approved", ...sealed, sealedAt: now }, tell: "approved" });

/** The approved transaction is sealed and the key is on the account. */
export const sealing = (attemptId: string, result: ChainTransaction, keyIndex: number, now: Date): Step => ({
  when: { status: "approved", attemptId, sealed: false },
  set: { result, keyIndex, sealedAt: now, settleAt: null },
  tell: "sealed",
});

/** approved → failed: the chain refused. */
export const failing = (attemptId: string): Step => ({
  when: { status: "approved", attemptId, sealed: false },
  set: { status: "failed", settleAt: null },
  tell: "failed",
});

/** approved → finished, once the key is there: the new device has its session. */
export const finishing: Step = {
  when: { status: "approved", sealed: true },
  set: { status: "finished" },
  tell: "finished",
};

/** Whether a step may be taken now; what the Postgres store says in SQL. */
export function guardHolds(row: TwoFactor, when: Guard): boolean {
  return (
    row.status === when.status &&
    (when.attemptId === undefined || row.attemptId === when.attemptId) &&
    (when.requestId === undefined || row.requestId === when.requestId) &&
    (when.sealed === undefined || (row.sealedAt !== null) === when.sealed) &&
    (when.liveAt === undefined || row.expiresAt > when.liveAt) &&
    (when.dueBy === undefined || row.expiresAt <= when.dueBy)
  );
}
