import {
  AppError,
  type Clock,
  insufficientScope,
  isAppError,
  type Reason,
  uuidv4,
  uuidv7,
  type VerifiedToken,
} from "@countersign/core";
import { beginSession, type Credentials, type Session } from "../sessions/session.ts";
import type { FindSignInKey } from "../sign-in/ports.ts";
import type { StepContext } from "../sign-up/sign-up-saga.ts";
import type { EnrollDevice } from "./enroll-device.ts";
import type {
  ChainTransaction,
  Enrollment,
  TwoFactorRequests,
  TwoFactorSignIn,
  TwoFactorSignInStore,
} from "./two-factor-sign-in.ts";

interface FinishTwoFactor {
  /** The access token; only the ephemeral one of this request finishes it. */
  readonly token: VerifiedToken;
  /** `TwoFactorAuth.id` or the id of one of its messages. */
  readonly id: string;
  readonly context: StepContext;
}

export interface FinishTwoFactorOptions {
  readonly signIns: Pick<TwoFactorSignInStore, "find" | "finish" | "devicesWith">;
  readonly requests: Pick<TwoFactorRequests<unknown>, "describe" | "finish">;
  readonly enroll: EnrollDevice;
  readonly findSignInKey: FindSignInKey;
  readonly clock: Clock;
  /** Allows one call a second for each request. Errors: RateLimited. */
  limitPolls(twoFactorId: string): Promise<void>;
  issue(session: Session): Promise<Credentials>;
}

/** The session of the new device, and the transaction that added its key. */
export interface FinishedTwoFactor {
  readonly accountId: string;
  readonly chainName: string;
  readonly transaction: ChainTransaction;
  readonly credentials: Credentials;
}

/** Why a request of this status can never be finished. */
const ENDED: Readonly<Partial<Record<Enrollment["status"], Reason>>> = {
  rejected: "TwoFactorAuthRejected",
  expired: "TwoFactorAuthExpired",
  failed: "TwoFactorAuthFailed",
};

/**
 * Opens the new device's session, once, after its request was approved and sealed. auth's own row decides
 * which call is first, so that a retry completes a call that crashed after the request was marked as
 * finished.
 * Errors: see auth.v1.SignIn/FinishTwoFactor.
 *
 * Writes: the enrollment; "finished" at the device service; the session and the end of the ephemeral token in
 * one commit.
 * Crash: before that commit, a retry goes through again; after it, the device signs in by challenge.
 * Race: `finishedAt` is set once; the second call is TwoFactorAuthFinished.
 */
export const finishTwoFactor = (options: FinishTwoFactorOptions) => {
  const { signIns, requests, enroll, findSignInKey, clock, limitPolls, issue } = options;

  async function markFinished(signIn: TwoFactorSignIn, context: StepContext) {
    try {
      await requests.finish(signIn.accountId, signIn.id, context);
    } catch (error) {
      if (!isAppError(error, "TwoFactorAuthFinished")) throw error;
    }
  }

  return async ({ token, id, context }: FinishTwoFactor): Promise<FinishedTwoFactor> => {
    const { accountId, twoFactorId } = token;
    if (token.scope !== "sign" || twoFactorId === undefined) throw insufficientScope(["sign"], token.scope);
    await limitPolls(twoFactorId);
    const enrollment = await requests.describe(accountId, id, context);
    if (enrollment.id !== twoFactorId) {
      throw new AppError("InsufficientScope", { detail: "The ephemeral token was issued for another request" });
    }
    const signIn = await signIns.find(accountId, twoFactorId);
    if (!signIn) throw new AppError("TwoFactorAuthNotFound");
    if (signIn.finishedAt) throw new AppError("TwoFactorAuthFinished");
    const { status, sealed } = enrollment;
    const ended = ENDED[status];
    if (ended) throw new AppError(ended);
    const now = clock.now();
    // An expired token still shows how its request ended, but opens nothing.
    if (token.expiresAt <= now) throw new AppError("AccessTokenExpired");
    if (status === "pending" || !sealed) throw new AppError("TwoFactorAuthPending", { retryAfterSeconds: 1 });
    await enroll(signIn, enrollment, context);
    const { app, accountKey, deviceKey, authTime, chainName } = signIn;
    // As in a sign-in: a revocation is refused here, or its event, however late, ends the session.
    const readAt = clock.now();
    await findSignInKey(accountId, chainName, accountKey);
    await markFinished(signIn, context);
    // A device that is there without the request signs in by challenge: the request has not shown its key.
    if ((await signIns.devicesWith(accountId, signIn, signIn.id)).length > 0)
      throw new AppError("TwoFactorAuthFinished");

    // As in a sign-in: the device of a caller that is gone may have signed in by challenge.
    if (context.signal.aborted) throw new AppError("Unavailable");
    const session = beginSession(
      { id: uuidv7(clock), refreshId: uuidv4(), accountId, app, deviceKey, accountKey, authTime },
      readAt,
    );
    if (!(await signIns.finish(signIn.id, session, now, context.requestId)))
      throw new AppError("TwoFactorAuthFinished");
    return { accountId, chainName, transaction: sealed.transaction, credentials: await issue(session) };
  };
};
