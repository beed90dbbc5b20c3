import { isUuid } from "@countersign/core";
import type { DeliveredEvent } from "@countersign/events";
import type { FollowChain } from "../domain/follow-chain.ts";

/** Handles account's account-keys-changed: reads the chain itself. Idempotent, in any order. */
export const onAccountKeysChanged =
  (follow: (command: FollowChain) => Promise<void>) =>
  async ({ event }: DeliveredEvent): Promise<void> => {
    const { accountId, requestId, accountKeysChanged } = event;
    if (!accountKeysChanged || !isUuid(accountId)) return;
    const { chainName, height } = accountKeysChanged;
    await follow({ accountId, requestId, atLeast: { chainName, height } });
  };
