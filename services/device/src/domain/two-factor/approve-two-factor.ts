import { AppError, isAppError, uuidv7 } from "@countersign/core";
import { type PasskeySettings, samePublicKey } from "@countersign/keys";
import { faultPoint } from "../../fault-points.ts";
import type { Device, Session } from "../devices/device.ts";
import { requireRoom } from "../devices/device-limit.ts";
import {
  type Approver,
  approverSignature,
  requireApproverSignature,
  type SignedApproval,
} from "./approver-signature.ts";
import { findOpenTwoFactor, notPending } from "./find-open-two-factor.ts";
import { findTwoFactor, type OfTwoFactor } from "./find-two-factor.ts";
import type { TwoFactorPorts, UserCall, UserSignature } from "./ports.ts";
import { keyAdditionOf } from "./renew-message.ts";
import type { ChainTransaction, TwoFactor } from "./two-factor.ts";
import { approving, approvingSealed, beginningAttempt, doubtingAttempt, givingUpAttempt } from "./two-factor-state.ts";
import { requireApprovalsLeft, wrongApproval } from "./wrong-approvals.ts";

/** How the device agreed: a transaction that it sent (64 hex digits), or what its account key signed over the message. */
export type Approval = { transactionId: string } | SignedApproval;

/** Who approves, as the verified access token says. */
export interface ApproverSession extends Session, Approver {
  /** The session's id where it is a recovery key's: no device stands behind it, and the signer lets it wait. */
  recoverySessionId?: string;
}

/** What the request notes as its approver: the device, or the recovery key's session. */
interface ApproverId {
  id: string;
}

export interface ApproveTwoFactor extends OfTwoFactor {
  session: ApproverSession;
  approval: Approval;
  /** The user's call: the account service and the signer check the token for themselves. */
  call: UserCall;
}

export interface ApprovePorts extends TwoFactorPorts {
  /** Whether the account is frozen: then nobody is let in. */
  isFrozen(accountId: string): boolean;
  passkeys: PasskeySettings;
  /** The most live devices of one account. */
  maxDevices: number;
}

/** Refusals after which nothing was and nothing will be submitted. Every other error leaves open what happened. */
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
 * A registered device of the account, or its recovery key, enrolls a new one. Exactly one concurrent decision
 * wins; the device that approved succeeds again with the same approval.
 * Errors: TwoFactorAuthNotFound, TwoFactorAuthNotPending, MessageRenewed, InvalidSignature,
 * TransactionMismatch, TransactionPending, RateLimited, AccountFrozen, TooManyDevices, TooManyKeys,
 * InsufficientScope (the asking device itself), SessionEnded (no registered device), TimeLockRequired and
 * TimeLockCancelled (a recovery key), and what else NOTHING_SUBMITTED names; Unavailable and DeadlineExceeded
 * where the outcome will show in the request.
 */
export function approveTwoFactor(ports: ApprovePorts) {
  return async (command: ApproveTwoFactor): Promise<void> => {
    if (ports.isFrozen(command.session.accountId)) throw new AppError("AccountFrozen");
    const live = await ports.devices.listLive(command.session.accountId);
    const approver = requireApprover(live, command.session);
    try {
      await approveOpen(ports, live, approver, command);
    } catch (error) {
      // A device whose answer got lost asks again, maybe while its first call is under way.
      if (!isAppError(error, "TwoFactorAuthNotPending")) throw error;
      if (!(await isApprovedAlready(ports, approver, command))) throw error;
    }
  };
}

async function approveOpen(
  ports: ApprovePorts,
  live: readonly Device[],
  approver: ApproverId,
  command: ApproveTwoFactor,
): Promise<void> {
  const request = await findOpenTwoFactor(ports, command);
  requireOtherDevice(request, command.session);
  requireApprovalsLeft(request, ports.clock.now());
  requireRoom(live, request.userKey.deviceKey, ports.maxDevices);

  if ("transactionId" in command.approval) {
    await approveWithTransaction(ports, request, approver, command, command.approval.transactionId);
  } else {
    await approveWithSignature(ports, request, approver, command, command.approval);
  }
}

/**
 * Returns whether this device has approved the request, and says the same again: its own signature, or that
 * transaction.
 */
async function isApprovedAlready(
  ports: ApprovePorts,
  approver: ApproverId,
  { session, id, requestId, approval }: ApproveTwoFactor,
): Promise<boolean> {
  const { status, approvedBy, result, message } = await findTwoFactor(ports, session.accountId, id, requestId);
  if ((status !== "approved" && status !== "finished") || approvedBy !== approver.id) return false;
  if ("transactionId" in approval) return approval.transactionId === result?.id;
  return approverSignature(ports.passkeys, message, session, approval) !== undefined;
}

/** The user's own transaction has added the key: the chain says so, or it counts as a wrong approval. */
async function approveWithTransaction(
  ports: TwoFactorPorts,
  request: TwoFactor,
  approver: ApproverId,
  { call, requestId }: ApproveTwoFactor,
  transactionId: string,
): Promise<void> {
  const firstMessage = await ports.requests.firstMessage(request.id);
  const addition = { ...keyAdditionOf(request), transactionId, notBefore: request.requestedAt, firstMessage };
  const seen = await ports.keyAdditions.verify(addition, call).catch(async (error) => {
    throw isAppError(error, "TransactionMismatch") ? await wrongApproval(ports, request, error) : error;
  });
  await faultPoint("transaction verified");

  const now = ports.clock.now();
  const step = approvingSealed({ approvedBy: approver.id, result: seen.transaction, keyIndex: seen.keyIndex }, now);
  if (!(await ports.requests.take(request.id, step, { occurredAt: now, requestId }))) throw notPending();
  await faultPoint("approval committed");
}

/** We send the transaction that the user signed: first the attempt is committed, then it is submitted, then it counts as approved. */
async function approveWithSignature(
  ports: ApprovePorts,
  request: TwoFactor,
  approver: ApproverId,
  command: ApproveTwoFactor,
  approval: SignedApproval,
): Promise<void> {
  // Only here: a transaction speaks for itself, whatever message the device had looked at.
  requireCurrentName(request, command.id);
  const signature = await requireApproverSignature(ports, request, command.session, approval);

  const attemptId = await beginAttempt(ports, request, approver, command);
  await faultPoint("attempt committed");
  const transaction = await submit(ports, request, attemptId, command, signature);
  await faultPoint("attempt submitted");

  const now = ports.clock.now();
  const context = { occurredAt: now, requestId: command.requestId };
  const approved =
    (await ports.requests.take(request.id, approving(attemptId, transaction, now), context)) ??
    (await findTwoFactor(ports, request.accountId, request.id, command.requestId));
  // The sweeper may have written it down before us; anything else is not this approval.
  if (approved.attemptId !== attemptId) throw notPending();
  await faultPoint("approval committed");
}

/** Commits the attempt, unless somebody decided or renewed the request since it was read. */
async function beginAttempt(
  ports: TwoFactorPorts,
  request: TwoFactor,
  approver: ApproverId,
  command: ApproveTwoFactor,
): Promise<string> {
  const now = ports.clock.now();
  const attemptId = uuidv7(ports.clock);
  const step = beginningAttempt(request, { attemptId, approvedBy: approver.id }, now);
  if (await ports.requests.take(request.id, step, { occurredAt: now, requestId: command.requestId })) return attemptId;

  // Not open any more: says so. Open still: it was renewed under our hands.
  await findOpenTwoFactor(ports, command);
  throw new AppError("MessageRenewed");
}

/** Has the account service submit the signed message, and leaves the attempt to be settled where its answer does not come. */
async function submit(
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
    const refused = isAppError(error, ...NOTHING_SUBMITTED);
    const step = refused ? givingUpAttempt(attemptId) : doubtingAttempt(attemptId, now);
    // Where not even this can be written, the attempt stands as it was, and the sweeper settles it when it is old enough.
    await ports.requests.take(request.id, step, { occurredAt: now, requestId });
    throw error;
  }
}

function requireApprover(live: readonly Device[], session: ApproverSession): ApproverId {
  if (session.recoverySessionId !== undefined) return { id: session.recoverySessionId };
  const device = live.find(({ publicKey }) => samePublicKey(publicKey, session.sessionKey));
  if (!device) throw new AppError("SessionEnded");
  return device;
}

function requireOtherDevice({ userKey }: TwoFactor, { sessionKey, accountKey }: ApproverSession): void {
  if (samePublicKey(userKey.deviceKey, sessionKey) || samePublicKey(userKey.accountKey, accountKey)) {
    throw new AppError("InsufficientScope", { detail: "A device cannot let itself in" });
  }
}

/** Who names an earlier request id has looked at an earlier message. */
function requireCurrentName(request: TwoFactor, id: string): void {
  if (id !== request.id && id !== request.requestId) throw new AppError("MessageRenewed");
}
