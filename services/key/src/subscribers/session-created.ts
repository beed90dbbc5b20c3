import { isUuid } from "@countersign/core";
import type { DeliveredEvent } from "@countersign/events";
import { publicKeyFromProto } from "@countersign/rpc";
import type { recordKeyUse } from "../domain/record-key-use.ts";

/** Handles auth's session-created: records the use of its account key. Idempotent, in any order. */
export const onSessionCreated =
  (record: ReturnType<typeof recordKeyUse>) =>
  async ({ event }: DeliveredEvent): Promise<void> => {
    const { accountId, occurredAt, sessionCreated } = event;
    // An incomplete event stays so when it is delivered again.
    if (!sessionCreated || !occurredAt || !isUuid(accountId)) return;
    await record({ accountId, accountKey: publicKeyFromProto(sessionCreated.accountKey), usedAt: occurredAt });
  };
