import { createHash } from "node:crypto";
import { internalName } from "@countersign/core";
import { API_PREFIX, DURABLES, FED_SUBJECTS } from "./consumers.ts";
import { EVENTS_STREAM } from "./stream.ts";

/** The NATS account that the stream is in; only the operator connects to it. */
const eventsAccount = "EVENTS";

/** Shortens an account's name as nats-server does: bytes of its SHA-256, each as a digit of base 62. */
function accountHash(account: string): string {
  const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const hash = createHash("sha256").update(account).digest().subarray(0, 8);
  return Array.from(hash, (byte) => digits[byte % digits.length]).join("");
}

/** Subjects of the events' account that a service reaches. */
interface Rights {
  /** Requests with one answer, or none. */
  ask: string[];
  /** Requests with several answers. */
  fetch: string[];
  follow: string[];
}

/**
 * Returns the rights of a service: its own subjects, and its own durable consumers to fetch from and
 * acknowledge to, in both of NATS' forms.
 */
function rightsOf(service: keyof typeof DURABLES): Rights {
  const durables = Object.keys(DURABLES[service]);
  const feeds = service === "device";
  return {
    ask: [
      `cs.v1.${service}.>`,
      ...durables.flatMap((durable) => [
        `$JS.API.CONSUMER.INFO.${EVENTS_STREAM}.${durable}`,
        `$JS.ACK.${EVENTS_STREAM}.${durable}.>`,
        `$JS.ACK._.${accountHash(eventsAccount)}.${EVENTS_STREAM}.${durable}.>`,
      ]),
      // Follows the stream, and reads one account's past events for streams that resume.
      ...(feeds ? [`$JS.API.STREAM.INFO.${EVENTS_STREAM}`, `$JS.API.STREAM.MSG.GET.${EVENTS_STREAM}`] : []),
    ],
    fetch: durables.map((durable) => `$JS.API.CONSUMER.MSG.NEXT.${EVENTS_STREAM}.${durable}`),
    follow: feeds ? [FED_SUBJECTS] : [],
  };
}

/** Returns the name of a subject in a service's own account, which has no JetStream. */
const localName = (subject: string): string => subject.replace(/^\$JS\.API\./, `${API_PREFIX}.`);

/**
 * Returns the accounts of NATS, with users by the DNS name of their certificate. Each service has its own
 * account and imports its rights from the events' account. NATS' answers therefore reach only the requester,
 * and cannot be redirected to a subject that another service may request. The gateway has no account.
 */
export function natsAccounts(): Record<string, object> {
  const accounts: Record<string, object> = {};
  const exported: object[] = [];
  for (const service of Object.keys(DURABLES) as (keyof typeof DURABLES)[]) {
    const name = service.toUpperCase();
    const { ask, fetch, follow } = rightsOf(service);
    exported.push(
      ...ask.map((subject) => ({ service: subject, accounts: [name] })),
      ...fetch.map((subject) => ({ service: subject, response_type: "stream", accounts: [name] })),
      ...follow.map((subject) => ({ stream: subject, accounts: [name] })),
    );
    const from = (subject: string) => ({ account: eventsAccount, subject });
    accounts[name] = {
      users: [
        {
          user: internalName(service),
          permissions: { publish: [...ask, ...fetch].map(localName), subscribe: ["_INBOX.>", ...follow] },
        },
      ],
      imports: [
        ...[...ask, ...fetch].map((subject) => ({ service: from(subject), to: localName(subject) })),
        ...follow.map((subject) => ({ stream: from(subject) })),
      ],
    };
  }
  // The operator creates and inspects the stream and its consumers; no process uses this account at run time.
  const permissions = { publish: ["$JS.API.>", "$JS.ACK.>"], subscribe: ["cs.v1.>", "_INBOX.>"] };
  accounts[eventsAccount] = {
    jetstream: "enabled",
    users: [{ user: internalName("operator"), permissions }],
    exports: exported,
  };
  return accounts;
}
