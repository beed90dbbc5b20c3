import { isUuid } from "@countersign/core";
import type { DeliveredEvent } from "@countersign/events";
import { publicKeyFromProto } from "@countersign/rpc";
import type { AccessStore } from "../domain/access/revoked-access.ts";

/** Handles key-revoked and account-left: ends the access of the key or account. Idempotent. */
export const onKeyEvent =
  (store: Pick<AccessStore, "endRevoked" | "leave">) =>
  async ({ subject, event }: DeliveredEvent): Promise<void> => {
    const { accountId, occurredAt, requestId, keyRevoked, accountLeft } = event;
    if (!occurredAt || !isUuid(accountId)) return;
    if (keyRevoked && subject.endsWith(".key-revoked")) {
      const accountKey = publicKeyFromProto(keyRevoked.accountKey);
      await store.endRevoked({ accountId, accountKey, revokedAt: occurredAt, requestId });
    } else if (accountLeft && subject.endsWith(".account-left")) {
      await store.leave({ accountId, leftAt: occurredAt, requestId });
    }
  };
