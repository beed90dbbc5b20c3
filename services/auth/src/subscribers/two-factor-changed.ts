import { isUuid } from "@countersign/core";
import type { DeliveredEvent } from "@countersign/events";
import type { admitApproved } from "../domain/two-factor/enroll-device.ts";
import type { TwoFactorSignInStore } from "../domain/two-factor/two-factor-sign-in.ts";
import { faultPoint } from "../fault-points.ts";

interface TwoFactorChangedOptions {
  readonly admit: ReturnType<typeof admitApproved>;
  readonly endToken: TwoFactorSignInStore["endToken"];
  readonly signal: AbortSignal;
}

/** Statuses that a request never leaves. */
const OVER: readonly string[] = ["rejected", "expired", "finished", "failed"];

/**
 * Admits a new device when its request was approved, and when the transaction is sealed; ends its ephemeral token once the request is over. The event grants
 * nothing: what is admitted is read again from its owner.
 */
export const onTwoFactorChanged =
  ({ admit, endToken, signal }: TwoFactorChangedOptions) =>
  async ({ event }: DeliveredEvent): Promise<void> => {
    const { accountId, requestId, twoFactorChanged } = event;
    if (!twoFactorChanged || !isUuid(accountId) || !isUuid(twoFactorChanged.id)) return;
    const { id, status } = twoFactorChanged;
    await faultPoint("request received");
    if (status === "approved" || status === "sealed") await admit(accountId, id, { requestId, signal });
    else if (OVER.includes(status)) await endToken(accountId, id);
    await faultPoint("request taken note of");
  };
