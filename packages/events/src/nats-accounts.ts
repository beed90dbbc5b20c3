import { hash } from "node:crypto";
import { internalName } from "@countersign/core";
import { API_PREFIX, DURABLES } from "./consumers.ts";
import { type EventStream, eventStreams, partitionMapping } from "./stream.ts";

/** The NATS account that the streams are in; only the operator connects to it. */
const eventsAccount = "EVENTS";

/** Shortens an account's name as nats-server does: bytes of its SHA-256, each as a digit of base 62. */
function accountHash(account: string): string {
  const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const bytes = hash("sha256", account, "buffer").subarray(0, 8);
  return Array.from(bytes, (byte) => digits[byte % digits.length]).join("");
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
function rightsOf(service: keyof typeof DURABLES, streams: readonly EventStream[]): Rights {
  const consumers = Object.keys(DURABLES[service]).flatMap((durable) =>
    streams.map(({ name }) => `${name}.${durable}`),
  );
  const followed = service === "device" ? streams : [];
  return {
    ask: [
      `cs.v1.${service}.>`,
      ...consumers.flatMap((consumer) => [
        `$JS.API.CONSUMER.INFO.${consumer}`,
        `$JS.ACK.${consumer}.>`,
        `$JS.ACK._.${accountHash(eventsAccount)}.${consumer}.>`,
      ]),
      // Follows the streams, and reads one account's past events for clients that resume.
      ...followed.flatMap(({ name }) => [`$JS.API.STREAM.INFO.${name}`, `$JS.API.STREAM.MSG.GET.${name}`]),
    ],
    fetch: consumers.map((consumer) => `$JS.API.CONSUMER.MSG.NEXT.${consumer}`),
    follow: followed.map(({ feed }) => feed),
  };
}

/** Returns the name of a subject in a service's own account, which has no JetStream. */
const localName = (subject: string): string => subject.replace(/^\$JS\.API\./, `${API_PREFIX}.`);

/**
 * Returns the accounts of NATS, with users by the DNS name of their certificate. Each service has its own
 * account and imports its rights from the events' account. NATS' answers therefore reach only the requester,
 * and cannot be redirected to a subject that another service may request. The gateway has no account.
 * With partitions the events' account maps an event to its partition after NATS has checked the rights.
 */
export function natsAccounts(partitions = 1): Record<string, object> {
  const streams = eventStreams(partitions);
  const accounts: Record<string, object> = {};
  const exported: object[] = [];
  for (const service of Object.keys(DURABLES) as (keyof typeof DURABLES)[]) {
    const name = service.toUpperCase();
    const { ask, fetch, follow } = rightsOf(service, streams);
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
  // The operator creates, inspects and copies the stream and its consumers; no process uses this at run time.
  const permissions = {
    publish: ["$JS.API.>", "$JS.ACK.>", "$JS.SNAPSHOT.>"],
    subscribe: ["cs.v1.>", "_INBOX.>"],
  };
  accounts[eventsAccount] = {
    jetstream: "enabled",
    users: [{ user: internalName("operator"), permissions }],
    ...(partitions > 1 && { mappings: partitionMapping(partitions) }),
    exports: exported,
  };
  return accounts;
}

/** Returns JSON with one line for each import and export. */
function toJson(value: object): string {
  const line = (text: string) => text.replace(/\n\s*/g, " ");
  return JSON.stringify(value, null, 2)
    .replace(/\{[^{}[\]]*\}/g, line)
    .replace(/\{[^[\]{}]*\{[^{}[\]]*\}[^[\]{}]*\}/g, line)
    .replace(/"accounts": \[[^[\]{}]*\]/g, line)
    .replace(/\{[^{}]*"accounts": \[[^{}]*\]\s*\}/g, line);
}

/** Returns the content of accounts.conf, which nats-server includes; `source` says what wrote it. */
export const natsAccountsFile = (source: string, partitions = 1): string =>
  `# Written by ${source}.\naccounts: ${toJson(natsAccounts(partitions))}\n`;
