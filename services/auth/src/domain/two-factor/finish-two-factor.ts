import {
  AppError,
  type Clock,
  insufficientScope,
  isAppError,
  uuidv4,
  uuidv7,
  type VerifiedToken,
} from "@countersign/core";
import { faultPoint } from "../../fault-points.ts";
import { beginSession, type Credentials, type Session } from "../sessions/session.ts";
import type { AdmitDevice } from "./enroll-device.ts";
import type {
  Admission,
  ChainTransaction,
  TwoFactorRequests,
  TwoFactorSignIn,
  TwoFactorSignInStore,
} from "./two-factor-sign-in.ts";

export interface FinishTwoFactor {
  /** Any access token; only the ephemeral one of this very request finishes. */
  readonly token: VerifiedToken;
  /** TwoFactorAuth.id or any of its request ids. */
  readonly id: string;
  readonly requestId: string;
}

export interface FinishTwoFactorOptions {
  readonly signIns: Pick<TwoFactorSignInStore, "find" | "finish">;
  readonly requests: Pick<TwoFactorRequests<unknown>, "describe" | "finish">;
  readonly admit: AdmitDevice;
  readonly clock: Clock;
  /** Refuses who asks more often than once a second. Errors: RateLimited. */
  limit(twoFactorId: string): Promise<void>;
  issue(session: Session): Promise<Credentials>;
}

/** A session that 2FA opened, and the transaction that added its key. */
export interface LetIn {
  readonly accountId: string;
  readonly chainName: string;
  readonly transaction: ChainTransaction;
  readonly credentials: Credentials;
}

/** Why a request never will be finished, in each state; undefined where it may be. */
const endOf = ({ status }: Admission): AppError | undefined => {
  if (status === "rejected") return new AppError("TwoFactorAuthRejected");
  if (status === "expired") return new AppError("TwoFactorAuthExpired");
  if (status === "failed") return new AppError("TwoFactorAuthFailed");
  return undefined;
};

/**
 * Opens the new device's session once its request is approved and sealed; once, ever. That auth's own row decides who is first lets a repetition finish what a crash
 * left after the request was marked as finished. Errors: see auth.v1.SignIn/FinishTwoFactor.
 */
export const finishTwoFactor = ({ signIns, requests, admit, clock, limit, issue }: FinishTwoFactorOptions) => {
  async function markFinished(signIn: TwoFactorSignIn, context: { requestId: string; signal: AbortSignal }) {
    try {
      await requests.finish(signIn.accountId, signIn.id, context);
    } catch (error) {
      if (!isAppError(error, "TwoFactorAuthFinished")) throw error;
    }
  }

  return async ({ token, id, requestId }: FinishTwoFactor, signal: AbortSignal): Promise<LetIn> => {
    const { accountId, twoFactorId } = token;
    if (token.scope !== "sign" || twoFactorId === undefined) throw insufficientScope(["sign"], token.scope);
    await limit(twoFactorId);
    const context = { requestId, signal };
    const admission = await requests.describe(accountId, id, context);
    if (admission.id !== twoFactorId) {
      throw new AppError("InsufficientScope", { detail: "The ephemeral token was issued for another request" });
    }
    const signIn = await signIns.find(accountId, twoFactorId);
    if (!signIn) throw new AppError("TwoFactorAuthNotFound");
    if (signIn.finishedAt) throw new AppError("TwoFactorAuthFinished");
    const end = endOf(admission);
    if (end) throw end;
    const now = clock.now();
    // A token that is over tells how its request ended, and opens nothing.
    if (token.expiresAt <= now) throw new AppError("AccessTokenExpired");
    const { status, sealed } = admission;
    if (status === "pending" || !sealed) throw new AppError("TwoFactorAuthPending", { retryAfterSeconds: 1 });
    await admit(signIn, admission, context);
    await markFinished(signIn, context);
    await faultPoint("request finished");

    const { app, userKey: accountKey, deviceKey, authTime, chainName } = signIn;
    const session = beginSession(
      { id: uuidv7(clock), refreshId: uuidv4(), accountId, app, deviceKey, accountKey, authTime },
      now,
    );
    if (!(await signIns.finish(signIn.id, session, now, requestId))) throw new AppError("TwoFactorAuthFinished");
    await faultPoint("let in");
    return { accountId, chainName, transaction: sealed.transaction, credentials: await issue(session) };
  };
};
