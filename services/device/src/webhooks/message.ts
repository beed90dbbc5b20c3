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
export interface WebhookMessage {
  readonly type: WebhookType;
  readonly data: Readonly<Record<string, string | number | boolean>>;
  /**
   * The apps that it is for: those named; or the app of a session; or every app of the account, where it says
   * neither.
   */
  readonly for: { readonly apps?: readonly string[]; readonly sessionId?: string };
}

/** Those that devices do not receive. */
const OTHERS: Readonly<Record<string, (event: Event) => WebhookMessage | undefined>> = {
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

/** Returns the message of an event; undefined where backends receive none, or it is incomplete. */
export function toWebhookMessage(subject: string, event: Event): WebhookMessage | undefined {
  const { accountId, occurredAt, sessionEnded } = event;
  const parts = subjectParts(subject);
  if (parts === undefined || parts.accountId !== accountId || occurredAt === undefined) return undefined;
  if (Object.hasOwn(OTHERS, parts.name)) {
    try {
      return OTHERS[parts.name]?.(event);
    } catch {
      // A key of an unknown algorithm, perhaps of a later version.
      return undefined;
    }
  }
  const seen = toAccountEvent(0, subject, event);
  const type = WEBHOOK_TYPES.find((each) => each === seen?.type);
  if (seen === undefined || type === undefined) return undefined;
  return { type, data: seen.data, for: sessionEnded ? { sessionId: sessionEnded.sessionId } : {} };
}

/** Returns the body: what Standard Webhooks asks for, with the account's id among the data. */
export const webhookBody = (type: string, occurredAt: Date, data: object): string =>
  JSON.stringify({ type, timestamp: occurredAt.toISOString(), data });
