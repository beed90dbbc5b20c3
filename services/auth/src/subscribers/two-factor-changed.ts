import { isUuid } from "@countersign/core";
import type { DeliveredEvent } from "@countersign/events";
import type { enrollApproved } from "../domain/two-factor/enroll-device.ts";
import type { TwoFactorSignInStore } from "../domain/two-factor/two-factor-sign-in.ts";

export interface TwoFactorChangedOptions {
  readonly enroll: ReturnType<typeof enrollApproved>;
  readonly endToken: TwoFactorSignInStore["endToken"];
  readonly signal: AbortSignal;
}

/** The final statuses of a request. */
const OVER: readonly string[] = ["rejected", "expired", "finished", "failed"];

/**
 * Handles two-factor-changed: enrolls the new device when its request is approved or sealed, and ends its
 * ephemeral token once the request is over. The event grants nothing: the request is read again from its
 * owner.
 */
export const onTwoFactorChanged =
  ({ enroll, endToken, signal }: TwoFactorChangedOptions) =>
  async ({ event }: DeliveredEvent): Promise<void> => {
    const { accountId, requestId, twoFactorChanged } = event;
    if (!twoFactorChanged || !isUuid(accountId) || !isUuid(twoFactorChanged.id)) return;
    const { id, status } = twoFactorChanged;
    if (status === "approved" || status === "sealed") await enroll(accountId, id, { requestId, signal });
    else if (OVER.includes(status)) await endToken(accountId, id);
  };
