import { AppError, type Clock, isAppError, type Reason, uuidv4, uuidv7, type VerifiedToken } from "@countersign/core";
import { idempotencyOf, type NewKeyOptions, type NewKeyRequest, verifyNewKeyRequest } from "../new-key-request.ts";
import { beginSession, type Credentials, isUsed, type Session, type SessionStore } from "../sessions/session.ts";
import { type KeysOfDevice, sameKeys } from "../user-key.ts";
import {
  type Deployed,
  driveSignUp,
  type LeaseSignUp,
  SIGN_UP_STEPS,
  type SignUpDecision,
  type SignUpFacts,
  type SignUpSteps,
  type SignUpStore,
} from "./sign-up-saga.ts";

export interface SignUp extends NewKeyRequest {
  /** The token of a full session, for a further chain of its account. */
  readonly token: VerifiedToken | undefined;
  /** Why the access token was refused. The login alone decides unless the identity has an account. */
  readonly tokenRefusal: Reason | undefined;
}

export interface SignUpOptions<Answer extends Deployed> extends NewKeyOptions {
  readonly store: SignUpStore;
  readonly sessions: Pick<SessionStore, "begin">;
  readonly steps: SignUpSteps<Answer>;
  readonly clock: Clock;
  issue(session: Session): Promise<Credentials>;
}

/** How long a sign-up waits for the chain. */
const CHAIN_WAIT_MS = 20_000;
/** Longer than a request may last, so that the runner does not drive a saga that a request drives. */
export const SAGA_LEASE_MS = 30_000;

/**
 * Signs a person up: verifies login and attestation, leases the saga, drives its steps, and opens a session.
 * Errors: see auth.v1.SignUp/SignUp.
 *
 * Repeated: while the sign-up is incomplete, the same identity with the same keys takes the lease over and
 * drives the steps that are left; earlier requests may go on beside it. Afterwards `decideSignUp` accepts
 * only the same Idempotency-Key with the same login token and body. A sign-up has one session: a repeated
 * request gets new tokens of it until one was refreshed or it has ended, then AccountExists. A copy of a
 * request that arrives late ends no session that the device has begun since the sign-up's first request.
 * Writes: what a login code was exchanged for; the use of the attestation; identity, saga and use of the
 * Idempotency-Key in one commit; one mark of the steps that were taken, or `giveUp` where the chain refused
 * the deployment; the session.
 * Crash: after the lease has ended, `finishAbandonedSignUps` of any replica drives the steps that are left.
 * It opens no session: the person repeats the request or signs in.
 * Race: the store takes one request of an identity at a time. The first one fixes the keys; a request with
 * other keys is AccountExists.
 */
export const signUp =
  <Answer extends Deployed>(options: SignUpOptions<Answer>) =>
  async (command: SignUp): Promise<{ deployment: Answer; credentials: Credentials }> => {
    const { store, sessions, steps, clock, issue } = options;
    const { chainName, accountKey, deviceKey, device, token, context } = command;
    const profile = await verifyNewKeyRequest(options, "sign-up", command);
    const { app, authTime } = profile;

    const now = clock.now();
    const leasing: LeaseSignUp = {
      profile,
      chainName,
      app,
      userKeyType: command.userKeyType,
      accountKey,
      deviceKey,
      device,
      deviceId: uuidv7(clock),
      profileImageUrl: profile.picture,
      newAccountId: uuidv7(clock),
      sessionId: uuidv7(clock),
      session: token && { accountId: token.accountId, accountKey: token.accountKey, deviceKey: token.deviceKey },
      idempotency: idempotencyOf("sign-up", command),
      leaseUntil: new Date(now.getTime() + SAGA_LEASE_MS),
      now,
    };
    const leased = await store.lease(leasing, decideSignUp);
    if (leased.kind === "account-exists") throw accountExists(command, leased.isOnChain);
    if (leased.kind === "idempotency-key-reused") throw new AppError("IdempotencyKeyReused");
    if (leased.kind === "refused") throw new AppError(leased.reason);

    // Both a lease and a replay: driving a complete saga only reads the deployment's status.
    const { saga } = leased;
    const { accountId, sessionId: id } = saga;
    command.accountFound?.(accountId);
    const drive = { steps, mark: store.mark, clock, waitMs: CHAIN_WAIT_MS, keepFailed: false, context };
    const deployment = await driveSignUp(saga, drive).catch(async (error) => {
      // If this fails, the runner gives up in its place once the lease has ended.
      if (isAppError(error, "DeploymentFailed")) await store.giveUp(saga).catch(() => undefined);
      throw error;
    });
    // The device of a caller that is gone may have signed in since: this session would end that one.
    if (context.signal.aborted) throw new AppError("Unavailable");
    const beginning = beginSession(
      { id, refreshId: uuidv4(), accountId, app, deviceKey, accountKey, authTime },
      clock.now(),
    );
    const asked = { at: saga.createdAt, bySession: token?.sessionId };
    const session = await sessions.begin(beginning, context.requestId, asked);
    if (!session || isUsed(session, clock.now())) throw accountExists(command, true);
    return { deployment, credentials: await issue(session) };
  };

/**
 * Decides what a request does. A new identity begins a sign-up; so does an account's own session on a further
 * chain, unless the account is frozen or the device was removed: there it would be the only device. The same
 * keys resume an incomplete sign-up; where the account is on another chain, only with its own session or the
 * same Idempotency-Key and login token: everybody reads its keys on that chain. A complete one is replayed
 * only for that Idempotency-Key and token; otherwise the account exists. A reused Idempotency-Key comes
 * first: it is an error of the client, also where the identity's account exists.
 */
export function decideSignUp(command: LeaseSignUp, facts: SignUpFacts): SignUpDecision {
  const { accountId, saga, earlier, isOnOtherChain, refusal } = facts;
  if (earlier?.sameBody === false) return { kind: "idempotency-key-reused" };
  if (!saga) {
    if (accountId === undefined) return { kind: "begin" };
    if (!isOwnFurtherChain(command, accountId)) return { kind: "account-exists", isOnChain: false };
    return refusal === undefined ? { kind: "begin" } : { kind: "refused", reason: refusal };
  }
  if (!sameKeys(saga, command)) return { kind: "account-exists", isOnChain: true };
  const isComplete = saga.done.size === SIGN_UP_STEPS.length;
  if (earlier?.accountId === accountId) return { kind: isComplete ? "replay" : "resume", saga };
  const mayResume = !isComplete && (!isOnOtherChain || isOwnFurtherChain(command, saga.accountId));
  return mayResume ? { kind: "resume", saga } : { kind: "account-exists", isOnChain: isComplete };
}

const ON_A_NEW_DEVICE = "on a new device through POST /auth/v1/signin/2fa";

/**
 * Returns the error for an identity that has an account: on this chain, or without a session that may add it.
 */
function accountExists({ token, tokenRefusal }: Pick<SignUp, "token" | "tokenRefusal">, isOnChain: boolean): AppError {
  if (isOnChain) {
    const refusal =
      tokenRefusal === undefined ? "" : `. The access token that was sent does not count (${tokenRefusal})`;
    const detail = `The identity has an account on this chain already: sign in instead, ${ON_A_NEW_DEVICE}${refusal}`;
    return new AppError("AccountExists", { detail });
  }
  // Whether the session is live is unknown at the moment: a retry may succeed.
  if (tokenRefusal === "Unavailable") return new AppError("Unavailable");
  if (tokenRefusal !== undefined) {
    const detail =
      `The identity has an account already, and the access token that was sent does not count (${tokenRefusal}): ` +
      "a further chain needs one of a full session of this account";
    return new AppError("AccountExists", { detail });
  }
  const detail =
    token === undefined
      ? `The identity has an account already: sign in instead, ${ON_A_NEW_DEVICE}`
      : "The identity has an account already: a further chain needs a full session of this account and that session's own keys";
  return new AppError("AccountExists", { detail });
}

/** Returns whether the session may request a further chain: for its own account, with its own two keys. */
export const isOwnFurtherChain = (command: KeysOfDevice & Pick<LeaseSignUp, "session">, accountId: string): boolean =>
  command.session?.accountId === accountId && sameKeys(command.session, command);
