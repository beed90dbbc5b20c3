import { isUuid } from "@countersign/core";
import type { Event } from "@countersign/proto/events/v1/events.ts";

/** Handles auth's person-erased: erases the service's own data. Idempotent; an event only takes away. */
export const onPersonErased =
  (erase: (accountId: string) => Promise<void>) =>
  async ({ event }: { readonly event: Event }): Promise<void> => {
    const { accountId, personErased } = event;
    if (personErased && isUuid(accountId)) await erase(accountId);
  };
