import { isUuid } from "@countersign/core";
import type { DeliveredEvent } from "@countersign/events";
import { publicKeyFromProto } from "@countersign/rpc";
import type { noteKeyUsed } from "../domain/note-key-used.ts";

/** auth's session-created: its account key was used. Bears the same event twice, and late. */
export const onSessionCreated =
  (note: ReturnType<typeof noteKeyUsed>) =>
  async ({ event }: DeliveredEvent): Promise<void> => {
    const { accountId, occurredAt, sessionCreated } = event;
    // Coming again would not make it whole.
    if (!sessionCreated || !occurredAt || !isUuid(accountId)) return;
    await note({ accountId, accountKey: publicKeyFromProto(sessionCreated.accountKey), usedAt: occurredAt });
  };
