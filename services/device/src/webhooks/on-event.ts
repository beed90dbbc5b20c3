import { type Clock, isUuid, type Watched } from "@countersign/core";
import type { DeliveredEvent } from "@countersign/events";
import type { WebhookEndpoint } from "./config.ts";
import { toWebhookMessages, webhookBody } from "./message.ts";
import type { WebhookStore } from "./ports.ts";

export interface OnWebhookEventOptions {
  readonly endpoints: Watched<readonly WebhookEndpoint[]>;
  readonly store: Pick<WebhookStore, "add">;
  /** The apps of an account, or of one of its sessions, as auth has them now. */
  listApps(accountId: string, sessionId: string): Promise<readonly string[]>;
  readonly clock: Clock;
}

/** Queues an event's messages for the endpoints of the account's apps. Idempotent. */
export function onWebhookEvent({ endpoints, store, listApps, clock }: OnWebhookEventOptions) {
  return async ({ subject, event }: DeliveredEvent): Promise<void> => {
    const { accountId, occurredAt } = event;
    if (occurredAt === undefined || !isUuid(accountId) || !isUuid(event.id)) return;
    for (const { id: eventId, type, data, for: whom } of toWebhookMessages(subject, event)) {
      const interested = endpoints.current().filter(({ types }) => types.includes(type));
      if (interested.length === 0) continue;
      const { apps = await listApps(accountId, whom.sessionId ?? "") } = whom;
      const chosen = interested.filter(({ appId }) => apps.includes(appId)).map(({ id }) => id);
      if (chosen.length === 0) continue;
      const body = webhookBody(type, occurredAt, { accountId, ...data });
      await store.add({ eventId, accountId, endpoints: chosen.sort(), type, body, now: clock.now() });
    }
  };
}
