import type { DeliveredEvent } from "@countersign/outbox";
import { isUuid } from "@countersign/service-kit";
import type { admitApproved } from "../domain/admit-device.ts";

export const TWO_FACTOR_CHANGED_DURABLE = "auth-two-factor-changed";
export const TWO_FACTOR_CHANGED_SUBJECT = "cs.v1.device.*.two-factor-changed";
/** With five minutes between the last ones about a day: a frozen account is not let in, and may be thawed. */
export const TWO_FACTOR_CHANGED_DELIVERIES = 300;

/** Admits a new device when its request was approved, and when the transaction is sealed. The event grants nothing: the request is read again from its owner. */
export const onTwoFactorChanged =
  (admit: ReturnType<typeof admitApproved>, signal: AbortSignal) =>
  async ({ event }: DeliveredEvent): Promise<void> => {
    const { accountId, requestId, twoFactorChanged } = event;
    if (twoFactorChanged?.status !== "approved" && twoFactorChanged?.status !== "sealed") return;
    if (!isUuid(accountId) || !isUuid(twoFactorChanged.id)) return;
    await admit(accountId, twoFactorChanged.id, { requestId, signal });
  };
