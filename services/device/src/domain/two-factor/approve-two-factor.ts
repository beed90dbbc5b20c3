import { AppError, isAppError, uuidv7 } from "@countersign/core";
import { type PasskeySettings, samePublicKey } from "@countersign/keys";
import { faultPoint } from "../../fault-points.ts";
import type { Device, Session } from "../devices/device.ts";
import { requireBelowDeviceLimit } from "../devices/device-limit.ts";
import { type Approver, approverSignature, type SignedApproval } from "./approver-signature.ts";
import { findOpenTwoFactor, notPending } from "./find-open-two-factor.ts";
import { findTwoFactor, type OfTwoFactor } from "./find-two-factor.ts";
import type { TwoFactorPorts, UserCall, UserSignature } from "./ports.ts";
import { type ChainTransaction, keyAdditionOf, type TwoFactor } from "./two-factor.ts";
import {
  abandoningAttempt,
  approving,
  approvingSealed,
  beginningAttempt,
  leavingUnconfirmed,
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

export interface ApproveTwoFactor extends OfTwoFactor {
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

/** Wrong signatures and transactions after which a request takes no more approvals. */
export const MAX_WRONG_APPROVALS = 5;
/**
 * Earlier messages that a signature is compared with; a device further behind has to read the request again.
 */
const MAX_EARLIER_MESSAGES = 10;

/**
 * Errors of a submission after which nothing was and nothing will be submitted. Others leave the outcome
 * open.
 */
const NOTHING_SUBMITTED = [
  "InvalidSignature",
  "SigningRefused",
  "MessageRenewed",
  "AccountFrozen",
  "AccountNotReady",
  "InvalidAccessToken",
  "SessionEnded",
  "AccessTokenExpired",
  "InsufficientScope",
  "TooManyKeys",
  "TimeLockRequired",
  "TimeLockCancelled",
] as const;

/**
 * Approves a new device, by a registered device of the account or by its recovery key. Exactly one concurrent
 * decision wins; the device that approved succeeds again with the same approval.
 * Errors: TwoFactorAuthNotFound, TwoFactorAuthNotPending, MessageRenewed, InvalidSignature,
 * TransactionMismatch, TransactionPending, RateLimited, AccountFrozen, TooManyDevices, TooManyKeys,
 * InsufficientScope (the new device itself), SessionEnded (not a registered device), TimeLockRequired and
 * TimeLockCancelled (a recovery key), and the others of NOTHING_SUBMITTED; Unavailable and DeadlineExceeded
 * where the request will show the outcome.
 */
export function approveTwoFactor(ports: ApprovePorts) {
  return async (command: ApproveTwoFactor): Promise<void> => {
    const { session } = command;
    if (ports.isFrozen(session.accountId)) throw new AppError("AccountFrozen");
    const live = await ports.devices.listLive(session.accountId);
    const approverId = requireApprover(live, session);
    try {
      const request = await findOpenTwoFactor(ports, command);
      requireOtherDevice(request, session);
      requireApprovalsLeft(request, ports.clock.now());
      requireBelowDeviceLimit(live, request.userKey.deviceKey, ports.maxDevices);
      await approveOpen(ports, request, approverId, command);
    } catch (error) {
      // A device whose answer got lost sends the approval again, maybe while its first call is under way.
      if (!isAppError(error, "TwoFactorAuthNotPending")) throw error;
      if (!(await isApprovedAlready(ports, approverId, command))) throw error;
    }
  };
}

/** Returns the id that the request records as its approver: the device's, or the recovery session's. */
function requireApprover(live: readonly Device[], session: ApproverSession): string {
  if (session.recoverySessionId !== undefined) return session.recoverySessionId;
  const device = live.find(({ publicKey }) => samePublicKey(publicKey, session.sessionKey));
  if (!device) throw new AppError("SessionEnded");
  return device.id;
}

function requireOtherDevice({ userKey }: TwoFactor, { sessionKey, accountKey }: ApproverSession): void {
  if (samePublicKey(userKey.deviceKey, sessionKey) || samePublicKey(userKey.accountKey, accountKey)) {
    throw new AppError("InsufficientScope", { detail: "A device cannot approve itself" });
  }
}

function requireApprovalsLeft(request: TwoFactor, now: Date): void {
  if (request.wrongApprovals >= MAX_WRONG_APPROVALS) throw noApprovalsLeft(request, now);
}

async function approveOpen(
  ports: ApprovePorts,
  request: TwoFactor,
  approverId: string,
  command: ApproveTwoFactor,
): Promise<void> {
  const { approval } = command;
  if ("transactionId" in approval) {
    await approveWithTransaction(ports, request, approverId, command, approval.transactionId);
  } else {
    await approveWithSignature(ports, request, approverId, command, approval);
  }
}

/**
 * Returns whether this approver has approved the request with the same transaction, or a signature of its
 * own.
 */
async function isApprovedAlready(
  ports: ApprovePorts,
  approverId: string,
  { session, id, requestId, approval }: ApproveTwoFactor,
): Promise<boolean> {
  const request = await findTwoFactor(ports, session.accountId, id, requestId);
  if (request.status !== "approved" && request.status !== "finished") return false;
  if (request.approverId !== approverId) return false;
  if ("transactionId" in approval) return approval.transactionId === request.result?.id;
  return approverSignature(ports.passkeys, request.message, session, approval) !== undefined;
}

/**
 * Approves a request whose key the user's own transaction has added; any other transaction counts as wrong.
 */
async function approveWithTransaction(
  ports: TwoFactorPorts,
  request: TwoFactor,
  approverId: string,
  { call, requestId }: ApproveTwoFactor,
  transactionId: string,
): Promise<void> {
  const firstMessage = await ports.requests.firstMessage(request.id);
  const addition = { ...keyAdditionOf(request), transactionId, notBefore: request.requestedAt, firstMessage };
  const verified = await ports.keyAdditions.verify(addition, call).catch(async (error) => {
    throw isAppError(error, "TransactionMismatch") ? await countWrongApproval(ports, request, error) : error;
  });
  await faultPoint("transaction verified");

  const now = ports.clock.now();
  const step = approvingSealed({ approverId, result: verified.transaction, keyIndex: verified.keyIndex }, now);
  if (!(await ports.requests.take(request.id, step, { occurredAt: now, requestId }))) throw notPending();
  await faultPoint("approval committed");
}

/**
 * Submits the transaction that the device has signed: commits the attempt, submits it, records the approval.
 */
async function approveWithSignature(
  ports: ApprovePorts,
  request: TwoFactor,
  approverId: string,
  command: ApproveTwoFactor,
  approval: SignedApproval,
): Promise<void> {
  const signature = await requireApproverSignature(ports, request, command, approval);

  const attemptId = await beginAttempt(ports, request, approverId, command);
  await faultPoint("attempt committed");
  const transaction = await submitAttempt(ports, request, attemptId, command, signature);
  await faultPoint("attempt submitted");

  const now = ports.clock.now();
  const context = { occurredAt: now, requestId: command.requestId };
  const approved =
    (await ports.requests.take(request.id, approving(attemptId, transaction, now), context)) ??
    (await findTwoFactor(ports, request.accountId, request.id, command.requestId));
  // The sweeper may have recorded this approval already; a request with another attempt has another approval.
  if (approved.attemptId !== attemptId) throw notPending();
  await faultPoint("approval committed");
}

/**
 * Returns the approver's signature over the current message, as it goes on chain. Errors: UnsupportedKey;
 * MessageRenewed where the device has read or signed an earlier message; InvalidSignature, which counts as a
 * wrong approval; RateLimited.
 */
async function requireApproverSignature(
  ports: ApprovePorts,
  request: TwoFactor,
  { id, session }: ApproveTwoFactor,
  approval: SignedApproval,
): Promise<UserSignature> {
  if (id !== request.id && id !== request.messageId) throw new AppError("MessageRenewed");
  if (session.accountKey.algorithm === "EdDSA") throw new AppError("UnsupportedKey");
  const signature = approverSignature(ports.passkeys, request.message, session, approval);
  if (signature !== undefined) return signature;

  const earlier = await ports.requests.earlierMessages(request, MAX_EARLIER_MESSAGES);
  const signedEarlier = earlier.some(
    ({ message }) => approverSignature(ports.passkeys, message, session, approval) !== undefined,
  );
  if (signedEarlier) throw new AppError("MessageRenewed");
  throw await countWrongApproval(ports, request, new AppError("InvalidSignature"));
}

/** Commits the attempt, unless the request was decided or its message renewed since it was read. */
async function beginAttempt(
  ports: TwoFactorPorts,
  request: TwoFactor,
  approverId: string,
  command: ApproveTwoFactor,
): Promise<string> {
  const now = ports.clock.now();
  const attemptId = uuidv7(ports.clock);
  const step = beginningAttempt(request, { attemptId, approverId }, now);
  if (await ports.requests.take(request.id, step, { occurredAt: now, requestId: command.requestId })) return attemptId;

  // Throws TwoFactorAuthNotPending where it was decided; otherwise its message was renewed.
  await findOpenTwoFactor(ports, command);
  throw new AppError("MessageRenewed");
}

/**
 * Has the account service submit the signed message; an attempt whose answer is missing is reconciled later.
 */
async function submitAttempt(
  ports: TwoFactorPorts,
  request: TwoFactor,
  attemptId: string,
  { session, call, requestId }: ApproveTwoFactor,
  signature: UserSignature,
): Promise<ChainTransaction> {
  const { message } = request;
  const approverKey = session.accountKey;
  try {
    return await ports.keyAdditions.submit(
      { ...keyAdditionOf(request), attemptId, message, approverKey, signature },
      call,
    );
  } catch (error) {
    const now = ports.clock.now();
    const isRefused = isAppError(error, ...NOTHING_SUBMITTED);
    const step = isRefused ? abandoningAttempt(attemptId) : leavingUnconfirmed(attemptId, now);
    // If this fails too, the attempt stays as it was, and the sweeper reconciles it at its `reconcileAt`.
    await ports.requests.take(request.id, step, { occurredAt: now, requestId });
    throw error;
  }
}

/**
 * Counts a wrong approval and returns the error to throw: `error`, or RateLimited where no approval was left.
 */
async function countWrongApproval(
  { requests, clock }: TwoFactorPorts,
  request: TwoFactor,
  error: AppError,
): Promise<AppError> {
  const counted = await requests.countWrongApproval(request.id, MAX_WRONG_APPROVALS);
  return counted ? error : noApprovalsLeft(request, clock.now());
}

function noApprovalsLeft({ expiresAt }: TwoFactor, now: Date): AppError {
  const seconds = Math.ceil((expiresAt.getTime() - now.getTime()) / 1000);
  return new AppError("RateLimited", { retryAfterSeconds: Math.max(1, seconds) });
}
