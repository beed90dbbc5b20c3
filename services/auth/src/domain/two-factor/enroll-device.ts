import { AppError, type Clock, isAppError } from "@countersign/core";
import { samePublicKey } from "@countersign/keys";
import { faultPoint } from "../../fault-points.ts";
import type { StepContext } from "../sign-up/sign-up-saga.ts";
import type {
  Admission,
  AdmissionSteps,
  TwoFactorRequests,
  TwoFactorSignIn,
  TwoFactorSignInStore,
} from "./two-factor-sign-in.ts";

export interface AdmitDeviceOptions {
  readonly signIns: Pick<TwoFactorSignInStore, "find" | "noteAddition" | "mayAdmit" | "markAdmitted">;
  readonly steps: AdmissionSteps;
  readonly clock: Clock;
}

/** Whether the request is still about the keys that auth was asked to let in; both services keep them for themselves. */
const isSame = (signIn: TwoFactorSignIn, admission: Admission): boolean =>
  admission.id === signIn.id &&
  admission.chainName === signIn.chainName &&
  samePublicKey(admission.userKey, signIn.userKey) &&
  samePublicKey(admission.deviceKey, signIn.deviceKey);

/**
 * Registers the new device and its key, once the chain has it: from then on the device signs in by challenge. Idempotent.
 * Errors: TwoFactorAuthPending, AccountFrozen, PleaseRegisterKey (blocked meanwhile), TooManyKeys, TooManyDevices.
 */
export const admitDevice =
  ({ signIns, steps, clock }: AdmitDeviceOptions) =>
  async (signIn: TwoFactorSignIn, admission: Admission, context: StepContext): Promise<void> => {
    const { sealed, deviceId } = admission;
    if (!isSame(signIn, admission)) throw new Error("a request for approval is not the one that was opened");
    if (!sealed) throw new AppError("TwoFactorAuthPending", { retryAfterSeconds: 1 });
    if (!signIn.admittedAt) await signIns.noteAddition(signIn, sealed.transaction);
    const verdict = await signIns.mayAdmit(signIn.accountId, [signIn.userKey, signIn.deviceKey]);
    if (verdict === "frozen") throw new AppError("AccountFrozen");
    if (verdict === "blocked") throw new AppError("PleaseRegisterKey");
    if (signIn.admittedAt) return;
    await faultPoint("admission begun");
    await steps.registerKey(signIn, sealed.keyIndex, context);
    await faultPoint("key admitted");
    await steps.registerDevice(signIn, deviceId, context);
    await faultPoint("device admitted");
    await signIns.markAdmitted(signIn.id, sealed.transaction, clock.now());
    await faultPoint("admission committed");
  };
export type AdmitDevice = ReturnType<typeof admitDevice>;

/**
 * Admits a device whose request was approved although nobody is there to finish it. What cannot be admitted yet throws and comes again; what never can be is left.
 * Errors: AccountFrozen and those of the services.
 */
export const admitApproved =
  ({ signIns, describe, admit }: Pick<AdmitDeviceOptions, "signIns"> & ApprovedOptions) =>
  async (accountId: string, id: string, context: StepContext): Promise<void> => {
    const signIn = await signIns.find(accountId, id);
    if (!signIn || signIn.admittedAt) return;
    try {
      const admission = await describe(accountId, id, context);
      // Not sealed yet: the seal is told by an event of its own.
      if (admission.sealed) await admit(signIn, admission, context);
    } catch (error) {
      if (!isAppError(error, "TwoFactorAuthNotFound") && !isAppError(error, "PleaseRegisterKey")) throw error;
    }
  };

interface ApprovedOptions {
  readonly describe: TwoFactorRequests<unknown>["describe"];
  readonly admit: AdmitDevice;
}
