import { AppError, type Clock } from "@countersign/core";
import type { AccountStore, QueueDeployment } from "../ports.ts";

/**
 * Gives up a deployment of which nothing is on chain; it is never queued again. Idempotent.
 * Errors: SignUpOnChain where it is in a transaction or deployed.
 *
 * Race: the row decides; a deployment is either assigned to a transaction or cancelled.
 */
export const cancelDeployment =
  ({ store, clock }: { readonly store: Pick<AccountStore, "cancel">; readonly clock: Clock }) =>
  async (deployment: Omit<QueueDeployment, "profileImageUrl" | "keepFailed">): Promise<void> => {
    const state = await store.cancel(deployment, clock.now());
    if (state !== "cancelled") throw new AppError("SignUpOnChain", { detail: `The deployment is ${state}` });
  };
