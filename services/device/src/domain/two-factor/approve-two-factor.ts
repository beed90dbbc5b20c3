import { AppError, isAppError, uuidv7 } from "@countersign/core";
import { type PasskeySettings, samePublicKey } from "@countersign/keys";
import type { Device, Session } from "../devices/device.ts";
import { requireBelowDeviceLimit } from "../devices/device-limit.ts";
import { type Approver, approverSignature, type SignedApproval } from "./approver-signature.ts";
import { findReconciled, isOpen, notPending, requireOpen } from "./find-reconciled.ts";
import { type OfTwoFactor, takeOrFind } from "./find-two-factor.ts";
import { NOTHING_SUBMITTED, type TwoFactorPorts, type UserCall, type UserSignature } from "./ports.ts";
import { type ChainTransaction, keyAdditionOf, type TwoFactor } from "./two-factor.ts";
import {
  abandoningAttempt,
  committingAttempt,
  leavingUnconfirmed,
  markingApproved,
  markingApprovedAndSealed,
} from "./two-factor-state.ts";

/**
 * A transaction that the device has sent (64 hex digits), or its account key's signature over the message.
 */
export type Approval = { transactionId: string } | SignedApproval;

/** The approving session, as the verified access token describes it. */
export interface ApproverSession extends Session, Approver {
  /** The session's id where it is a recovery key's, which has no device. */
  recoverySessionId?: string;
}

interface ApproveTwoFactor extends OfTwoFactor {
  session: ApproverSession;
  approval: Approval;
  /** The user's call: the account service and the signer verify its token themselves. */
  call: UserCall;
}

export interface ApprovePorts extends TwoFactorPorts {
  /** A frozen account enrolls no device. */
  isFrozen(accountId: string): boolean;
  passkeys: PasskeySettings;
  /** The most live devices of one account. */
  maxDevices: number;
}

/**
 * Wrong signatures and transactions, and while the recovery key has a session failed attempts as well, after
 * which a request takes no more approvals of devices.
 */
export const MAX_WRONG_APPROVALS = 5;
/**
 * Earlier messages that a signature is compared with; a device further behind has to read the request again.
 */
export const MAX_EARLIER_MESSAGES = 10;

/** A recovery session has as many again: a thief's phone must not use them up for it. */
const maxWrongApprovals = ({ recoverySessionId }: ApproverSession): number =>
  recoverySessionId === undefined ? MAX_WRONG_APPROVALS : 2 * MAX_WRONG_APPROVALS;

/**
 * Approves a new device, by a registered device of the account or by its recovery key. Exactly one concurrent
 * decision wins; the device that approved succeeds again, with the same transaction or any valid signature
 * over the message.
 * Errors: AccountFrozen, SessionEnded (not a registered device), TwoFactorAuthNotFound,
 * TwoFactorAuthNotPending, InsufficientScope (the new device itself), RateLimited (no approvals left),
 * TooManyDevices;
 * with a transaction also TransactionMismatch, TransactionPending, TooManyKeys, ChainUnavailable;
 * with a signature also MessageRenewed, UnsupportedKey, InvalidSignature, and those of KeyAdditions.submit.
 *
 * Writes: first what `findReconciled` writes. By transaction: the approval with its event. By signature: the
 * attempt, before it is submitted; then the approval with its event, or that the attempt is abandoned or
 * unconfirmed. A wrong approval is counted.
 * Crash: a committed attempt has a `reconcileAt`: then the sweeper of any replica asks for its outcome and
 * records it.
 * Race: the database takes a step only while its guard holds (two-factor-state.ts), in one statement.
 */
export function approveTwoFactor(ports: ApprovePorts) {
  return async (command: ApproveTwoFactor): Promise<void> => {
    const { session, approval } = command;
    if (ports.isFrozen(session.accountId)) throw new AppError("AccountFrozen");
    const live = await ports.devices.listLive(session.accountId);
    const approverId = requireApprover(live, session);
    const twoFactor = await findReconciled(ports, command);
    // A device whose answer was lost sends the approval again.
    if (isApprovedBy(ports, twoFactor, approverId, command)) return;

    requireOpen(twoFactor);
    requireOtherDevice(twoFactor, session);
    if (twoFactor.wrongApprovals >= maxWrongApprovals(session)) throw noApprovalsLeft(twoFactor, ports.clock.now());
    if (session.recoverySessionId === undefined)
      requireBelowDeviceLimit(live, twoFactor.userKey.deviceKey, ports.maxDevices);
    const decided =
      "transactionId" in approval
        ? await approveWithTransaction(ports, twoFactor, approverId, command, approval.transactionId)
        : await approveWithSignature(ports, twoFactor, approverId, command, approval);
    if (!isApprovedBy(ports, decided, approverId, command)) throw notPending(decided);
  };
}

/** Returns the id that the request records as its approver: the device's, or the recovery session's. */
function requireApprover(live: readonly Device[], session: ApproverSession): string {
  if (session.recoverySessionId !== undefined) return session.recoverySessionId;
  const device = live.find(({ publicKey }) => samePublicKey(publicKey, session.deviceKey));
  if (!device) throw new AppError("SessionEnded");
  return device.id;
}

function requireOtherDevice({ userKey }: TwoFactor, { deviceKey, accountKey }: ApproverSession): void {
  if (samePublicKey(userKey.deviceKey, deviceKey) || samePublicKey(userKey.accountKey, accountKey)) {
    throw new AppError("InsufficientScope", { detail: "A device cannot approve itself" });
  }
}

/**
 * Returns whether this approver has approved the request, and sends the same transaction or a valid signature
 * over the message.
 */
function isApprovedBy(
  { passkeys }: ApprovePorts,
  twoFactor: TwoFactor,
  approverId: string,
  { session, approval }: ApproveTwoFactor,
): boolean {
  if (twoFactor.status !== "approved" && twoFactor.status !== "finished") return false;
  if (twoFactor.approverId !== approverId) return false;
  if ("transactionId" in approval) return approval.transactionId === twoFactor.result?.id;
  return approverSignature(passkeys, twoFactor.message, session, approval) !== undefined;
}

/**
 * Approves a request whose key the user's own transaction has added; one that does something else counts as
 * a wrong approval.
 * Returns the request as it is then: another decision may have come first.
 */
async function approveWithTransaction(
  ports: TwoFactorPorts,
  twoFactor: TwoFactor,
  approverId: string,
  { session, call, requestId }: ApproveTwoFactor,
  transactionId: string,
): Promise<TwoFactor> {
  const firstMessage = await ports.requests.firstMessage(twoFactor.id);
  const addition = { ...keyAdditionOf(twoFactor), transactionId, notBefore: twoFactor.requestedAt, firstMessage };
  const verified = await ports.keyAdditions.verify(addition, call).catch(async (error) => {
    if (!isAppError(error, "TransactionMismatch")) throw error;
    throw await errorOfWrongApproval(ports, twoFactor, session, error);
  });

  const now = ports.clock.now();
  const sealed = { approverId, result: verified.transaction, keyIndex: verified.keyIndex };
  return takeOrFind(ports, twoFactor, markingApprovedAndSealed(sealed, now), { occurredAt: now, requestId });
}

/**
 * Submits the transaction that the device has signed: records the attempt, so that the sweeper finds it after
 * a crash, submits it, and marks the request as approved. Returns the request as it is then: another decision
 * may have come first, and the sweeper may have recorded what became of this attempt.
 */
async function approveWithSignature(
  ports: ApprovePorts,
  twoFactor: TwoFactor,
  approverId: string,
  command: ApproveTwoFactor,
  approval: SignedApproval,
): Promise<TwoFactor> {
  const { requestId } = command;
  const signature = await requireApproverSignature(ports, twoFactor, command, approval);

  const attemptId = uuidv7(ports.clock);
  const begun = ports.clock.now();
  const commitStep = committingAttempt(twoFactor, { attemptId, approverId }, begun);
  if (!(await ports.requests.take(twoFactor.id, commitStep, { occurredAt: begun, requestId }))) {
    const current = await findReconciled(ports, command);
    // The message was renewed, or another attempt began and was abandoned. The device reads the request
    // again.
    if (isOpen(current)) throw new AppError("MessageRenewed");
    return current;
  }
  const transaction = await submitAttempt(ports, twoFactor, attemptId, command, signature);

  const now = ports.clock.now();
  return takeOrFind(ports, twoFactor, markingApproved(attemptId, transaction, now), { occurredAt: now, requestId });
}

/**
 * Returns the approver's signature over the current message, as it goes on chain. Errors: UnsupportedKey;
 * MessageRenewed where the device has read or signed an earlier message; InvalidSignature, which counts as a
 * wrong approval; RateLimited.
 */
async function requireApproverSignature(
  ports: ApprovePorts,
  twoFactor: TwoFactor,
  { twoFactorId, session }: ApproveTwoFactor,
  approval: SignedApproval,
): Promise<UserSignature> {
  if (twoFactorId !== twoFactor.id && twoFactorId !== twoFactor.messageId) throw new AppError("MessageRenewed");
  if (session.accountKey.algorithm === "EdDSA") throw new AppError("UnsupportedKey");
  const signature = approverSignature(ports.passkeys, twoFactor.message, session, approval);
  if (signature !== undefined) return signature;

  const earlier = await ports.requests.earlierMessages(twoFactor, MAX_EARLIER_MESSAGES);
  const signedEarlier = earlier.some(
    ({ message }) => approverSignature(ports.passkeys, message, session, approval) !== undefined,
  );
  if (signedEarlier) throw new AppError("MessageRenewed");
  throw await errorOfWrongApproval(ports, twoFactor, session, new AppError("InvalidSignature"));
}

/**
 * Has the account service submit the signed message; an attempt whose answer is missing is reconciled later.
 */
async function submitAttempt(
  ports: TwoFactorPorts,
  twoFactor: TwoFactor,
  attemptId: string,
  { session, call, requestId }: ApproveTwoFactor,
  signature: UserSignature,
): Promise<ChainTransaction> {
  const { message } = twoFactor;
  const approverKey = session.accountKey;
  try {
    return await ports.keyAdditions.submit(
      { ...keyAdditionOf(twoFactor), attemptId, message, approverKey, signature },
      call,
    );
  } catch (error) {
    const now = ports.clock.now();
    const isRefused = isAppError(error, ...NOTHING_SUBMITTED);
    const step = isRefused ? abandoningAttempt(attemptId) : leavingUnconfirmed(attemptId, now);
    // If this fails too, the caller gets the database's error; the sweeper reconciles the attempt at its
    // `reconcileAt`.
    await ports.requests.take(twoFactor.id, step, { occurredAt: now, requestId });
    // One is under way at a time: by such attempts a thief's phone could keep out the recovery key's.
    if (twoFactor.openedInRecovery && session.recoverySessionId === undefined)
      await ports.requests.countWrongApproval(twoFactor.id, MAX_WRONG_APPROVALS);
    throw error;
  }
}

/**
 * Counts a wrong approval and returns the error to throw: `error`, or RateLimited where no approval was left.
 */
async function errorOfWrongApproval(
  { requests, clock }: TwoFactorPorts,
  twoFactor: TwoFactor,
  session: ApproverSession,
  error: AppError,
): Promise<AppError> {
  const counted = await requests.countWrongApproval(twoFactor.id, maxWrongApprovals(session));
  return counted ? error : noApprovalsLeft(twoFactor, clock.now());
}

const noApprovalsLeft = (twoFactor: TwoFactor, now: Date): AppError =>
  new AppError("RateLimited", { retryAfterSeconds: secondsLeft(twoFactor, now) });

/** Returns the seconds until a request expires, at least one. */
export const secondsLeft = ({ expiresAt }: TwoFactor, now: Date): number =>
  Math.max(1, Math.ceil((expiresAt.getTime() - now.getTime()) / 1000));
