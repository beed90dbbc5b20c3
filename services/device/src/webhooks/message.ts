import type { Event } from "@countersign/proto/events/v1/events.ts";
import { publicKeyFromProto } from "@countersign/rpc";
import { subjectParts, toAccountEvent } from "../events/account-event.ts";

/** Every type of a message; docs/webhooks.md describes them. */
export const WEBHOOK_TYPES = [
  "account.signed-up",
  "account.updated",
  "account.erased",
  "chain.alert",
  "device.updated",
  "key.added",
  "key.discovered",
  "key.revoked",
  "session.created",
  "session.ended",
  "time-lock.cancelled",
  "time-lock.started",
  "two-factor.approved",
  "two-factor.expired",
  "two-factor.failed",
  "two-factor.finished",
  "two-factor.rejected",
  "two-factor.requested",
] as const;
export type WebhookType = (typeof WEBHOOK_TYPES)[number];

/** One event as the backends of the account's apps receive it. */
interface WebhookMessage {
  /** The event's; that of a replaced session's end is another one, which sorts after it. */
  readonly id: string;
  readonly type: WebhookType;
  readonly data: Readonly<Record<string, string | number | boolean>>;
  /**
   * The apps that it is for: those named; or the app of a session; or every app of the account, where it says
   * neither.
   */
  readonly for: { readonly apps?: readonly string[]; readonly sessionId?: string };
}

/** Those that devices do not receive. */
const OTHERS: Readonly<Record<string, (event: Event) => Omit<WebhookMessage, "id"> | undefined>> = {
  "auth.sign-up-completed": ({ signUpCompleted: signedUp }) =>
    signedUp && {
      type: "account.signed-up",
      data: { chainName: signedUp.chainName },
      for: { apps: [signedUp.app?.appId ?? ""] },
    },
  "auth.session-created": ({ sessionCreated: created }) =>
    created && {
      type: "session.created",
      data: {
        sessionId: created.sessionId,
        publicKey: publicKeyFromProto(created.deviceKey).publicKey,
        recovery: created.recovery,
      },
      for: { apps: [created.app?.appId ?? ""] },
    },
  // Auth has forgotten the account's apps: the event names them.
  "auth.person-erased": ({ personErased: erased }) =>
    erased && { type: "account.erased", data: {}, for: { apps: erased.appIds } },
};

/** Ids of events have 8 here: their random part begins after it (packages/core/src/ids.ts). */
const toSecondId = (id: string): string => `${id.slice(0, 19)}9${id.slice(20)}`;

/**
 * Returns the messages of an event: none where backends receive none, or it is incomplete; two where a
 * session replaced another one, of the same app.
 */
export function toWebhookMessages(subject: string, event: Event): WebhookMessage[] {
  const { id, accountId, occurredAt, sessionCreated, sessionEnded } = event;
  const parts = subjectParts(subject);
  if (parts === undefined || parts.accountId !== accountId || occurredAt === undefined) return [];
  const messages: WebhookMessage[] = [];
  try {
    const other = OTHERS[parts.name]?.(event);
    if (other) messages.push({ id, ...other });
  } catch {
    // A key of an unknown algorithm, perhaps of a later version.
  }
  const seen = toAccountEvent(0, subject, event);
  const type = WEBHOOK_TYPES.find((each) => each === seen?.type);
  if (seen === undefined || type === undefined) return messages;
  const { data } = seen;
  if (sessionCreated)
    messages.push({ id: toSecondId(id), type, data, for: { apps: [sessionCreated.app?.appId ?? ""] } });
  else messages.push({ id, type, data, for: sessionEnded ? { sessionId: sessionEnded.sessionId } : {} });
  return messages;
}

/** Returns the body: what Standard Webhooks asks for, with the account's id among the data. */
export const webhookBody = (type: string, occurredAt: Date, data: object): string =>
  JSON.stringify({ type, timestamp: occurredAt.toISOString(), data });
