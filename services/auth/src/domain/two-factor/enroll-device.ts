import { AppError, type Clock, isAppError } from "@countersign/core";
import type { StepContext } from "../sign-up/sign-up-saga.ts";
import { sameKeys } from "../user-key.ts";
import type {
  Enrollment,
  EnrollmentSteps,
  TwoFactorRequests,
  TwoFactorSignIn,
  TwoFactorSignInStore,
} from "./two-factor-sign-in.ts";

interface EnrollDeviceOptions {
  readonly signIns: Pick<TwoFactorSignInStore, "recordAddition" | "mayEnroll" | "markEnrolled">;
  readonly steps: EnrollmentSteps;
  readonly clock: Clock;
}

/** Returns whether the device service's request has the keys that auth opened it with. */
const isSame = (signIn: TwoFactorSignIn, enrollment: Enrollment): boolean =>
  enrollment.id === signIn.id && enrollment.chainName === signIn.chainName && sameKeys(enrollment, signIn);

/**
 * Registers the new device and its key once the chain has it: from then on the device signs in by challenge.
 * Idempotent. Errors: TwoFactorAuthPending, AccountFrozen, PleaseRegisterKey (the key was blocked meanwhile),
 * TooManyKeys, TooManyDevices.
 *
 * Writes: the transaction that added the key; key and device at their services; the enrollment.
 * Crash: the event of the approval is delivered again, and the client polls: either call repeats all steps.
 * Race: each step is idempotent, so two calls do what one does.
 */
export const enrollDevice =
  ({ signIns, steps, clock }: EnrollDeviceOptions) =>
  async (signIn: TwoFactorSignIn, enrollment: Enrollment, context: StepContext): Promise<void> => {
    const { sealed, deviceId } = enrollment;
    if (!isSame(signIn, enrollment))
      throw new Error(`the device service's 2FA request ${enrollment.id} is not the one that was opened`);
    if (!sealed) throw new AppError("TwoFactorAuthPending", { retryAfterSeconds: 1 });
    const { requestId } = context;
    if (!signIn.enrolledAt) await signIns.recordAddition(signIn, sealed.transaction, { at: clock.now(), requestId });
    const verdict = await signIns.mayEnroll(signIn.accountId, [signIn.accountKey, signIn.deviceKey]);
    if (verdict === "frozen") throw new AppError("AccountFrozen");
    if (verdict === "blocked") throw new AppError("PleaseRegisterKey");
    if (signIn.enrolledAt) return;
    await steps.registerKey(signIn, sealed.keyIndex, context);
    await steps.registerDevice(signIn, deviceId, context);
    await signIns.markEnrolled(signIn.id, sealed.transaction, clock.now());
  };
export type EnrollDevice = ReturnType<typeof enrollDevice>;

interface ApprovedOptions {
  readonly signIns: Pick<TwoFactorSignInStore, "find">;
  readonly describe: TwoFactorRequests<unknown>["describe"];
  readonly enroll: EnrollDevice;
}

/**
 * Enrolls a device whose request was approved, also where its client does not finish it. Rejects where that
 * may succeed later, so that the event is delivered again. Errors: AccountFrozen and those of the services.
 */
export const enrollApproved =
  ({ signIns, describe, enroll }: ApprovedOptions) =>
  async (accountId: string, id: string, context: StepContext): Promise<void> => {
    const signIn = await signIns.find(accountId, id);
    if (!signIn || signIn.enrolledAt) return;
    try {
      const enrollment = await describe(accountId, id, context);
      // Not sealed yet: the seal has an event of its own.
      if (enrollment.sealed) await enroll(signIn, enrollment, context);
    } catch (error) {
      if (!isAppError(error, "TwoFactorAuthNotFound", "PleaseRegisterKey")) throw error;
    }
  };
