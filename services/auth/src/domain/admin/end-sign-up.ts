import { type Administrator, type Clock, isAppError, sleepUntil } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import { SAGA_LEASE_MS } from "../sign-up/sign-up.ts";
import {
  type Deployed,
  driveSignUp,
  type MarkStep,
  type SignUpSteps,
  type StepContext,
} from "../sign-up/sign-up-saga.ts";
import type { AdminStore, Effect, OfSignUp } from "./ports.ts";

const WAIT_MS = 15_000;

export interface ResumeOptions {
  readonly admin: Pick<AdminStore, "leaseSignUp">;
  readonly steps: SignUpSteps<Deployed>;
  readonly mark: MarkStep;
  readonly clock: Clock;
}

/**
 * Continues a sign-up, with another attempt where the chain refused the deployment. Where this process ends
 * in between, the runner of abandoned sign-ups continues it. Errors: SignUpNotFound.
 */
export const resumeSignUp =
  ({ admin, steps, mark, clock }: ResumeOptions) =>
  async (by: Administrator, of: OfSignUp, context: StepContext): Promise<Effect> => {
    const leaseUntil = new Date(clock.now().getTime() + SAGA_LEASE_MS);
    const { actionId, saga } = await admin.leaseSignUp(by, of, leaseUntil);
    const options = { steps, mark, clock, waitMs: WAIT_MS, keepFailed: false, context };
    try {
      const { status } = await driveSignUp(saga, options);
      return { actionId, details: [`deployment: ${status}`] };
    } catch (error) {
      // It was resumed, which is on record; the rest is the answer.
      if (!isAppError(error)) throw error;
      return { actionId, details: [`stopped: ${error.reason}: ${error.detail}`] };
    }
  };

export interface CancelOptions {
  readonly admin: Pick<AdminStore, "beginCancel" | "cancelSignUp">;
  readonly clock: Clock;
  /** account.v1.Accounts/CancelDeployment. Errors: SignUpOnChain. */
  cancelDeployment(of: OfSignUp, userKey: PublicKey, context: StepContext): Promise<void>;
}

/**
 * Cancels a sign-up of which nothing is on chain, once nobody drives it: a driver would register key and
 * device after the erasure. The record comes first. The deployment goes next: from then on no request and no
 * runner can bring the account on chain, and a cancellation that ends here is repeated.
 * Errors: SignUpNotFound, SignUpOnChain.
 */
export const cancelSignUp =
  ({ admin, clock, cancelDeployment }: CancelOptions) =>
  async (by: Administrator, of: OfSignUp, context: StepContext): Promise<Effect> => {
    const { userKey, drivenUntil, leaseUntil } = await admin.beginCancel(by, of, SAGA_LEASE_MS);
    await sleepUntil(drivenUntil.getTime() - clock.now().getTime(), [context.signal]);
    context.signal.throwIfAborted();
    await cancelDeployment(of, userKey, context);
    return admin.cancelSignUp(by, of, leaseUntil);
  };
