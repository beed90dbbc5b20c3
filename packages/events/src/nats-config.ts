import { createHash } from "node:crypto";
import { internalName } from "@countersign/core";
import { API_PREFIX, DURABLES, FED_SUBJECTS } from "./consumers.ts";
import { EVENTS_STREAM } from "./stream.ts";

/** Paths of PEM files: nats-server reads them itself. */
interface TlsFiles {
  ca: string;
  cert: string;
  key: string;
}

/** NATS' account that the stream is in, with the operator and nobody else. */
const eventsAccount = "EVENTS";

/** As nats-server shortens an account's name: bytes of its SHA-256, each as a digit of 62. */
function accountHash(account: string): string {
  const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const hash = createHash("sha256").update(account).digest().subarray(0, 8);
  return Array.from(hash, (byte) => digits[byte % digits.length]).join("");
}

/** Subjects of the events' account that a service reaches. */
interface Rights {
  /** Questions with one answer, or none. */
  ask: string[];
  /** Questions with several answers. */
  fetch: string[];
  hear: string[];
}

/** What is between a service and the events: its own subjects, its own durable consumers to fetch from and acknowledge to, in both of NATS' forms. */
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
      // Follows the stream, and reads an account's past one by one, for streams that resume.
      ...(feeds ? [`$JS.API.STREAM.INFO.${EVENTS_STREAM}`, `$JS.API.STREAM.MSG.GET.${EVENTS_STREAM}`] : []),
    ],
    fetch: durables.map((durable) => `$JS.API.CONSUMER.MSG.NEXT.${EVENTS_STREAM}.${durable}`),
    hear: feeds ? [FED_SUBJECTS] : [],
  };
}

/** The subject by which a service names it in its own account, which has no JetStream. */
const localName = (subject: string): string => subject.replace(/^\$JS\.API\./, `${API_PREFIX}.`);

/**
 * Who may do what, by the DNS name of the certificate. Each service has an account of its own and reaches what is let in from the events' account: so NATS' answers stay with whoever asked,
 * and cannot be led to what others may ask. The gateway has no business here.
 */
export function natsAccounts(): Record<string, object> {
  const accounts: Record<string, object> = {};
  const exported: object[] = [];
  for (const service of Object.keys(DURABLES) as (keyof typeof DURABLES)[]) {
    const name = service.toUpperCase();
    const { ask, fetch, hear } = rightsOf(service);
    exported.push(
      ...ask.map((subject) => ({ service: subject, accounts: [name] })),
      ...fetch.map((subject) => ({ service: subject, response_type: "stream", accounts: [name] })),
      ...hear.map((subject) => ({ stream: subject, accounts: [name] })),
    );
    const from = (subject: string) => ({ account: eventsAccount, subject });
    accounts[name] = {
      users: [
        {
          user: internalName(service),
          permissions: { publish: [...ask, ...fetch].map(localName), subscribe: ["_INBOX.>", ...hear] },
        },
      ],
      imports: [
        ...[...ask, ...fetch].map((subject) => ({ service: from(subject), to: localName(subject) })),
        ...hear.map((subject) => ({ stream: from(subject) })),
      ],
    };
  }
  // Sets the stream and its consumers up and looks into them, and is nobody's at run time.
  const permissions = { publish: ["$JS.API.>", "$JS.ACK.>"], subscribe: ["cs.v1.>", "_INBOX.>"] };
  accounts[eventsAccount] = {
    jetstream: "enabled",
    users: [{ user: internalName("operator"), permissions }],
    exports: exported,
  };
  return accounts;
}

export interface NatsPlaces {
  /** host:port. */
  listen: string;
  tls: TlsFiles;
  /** Where JetStream keeps its messages. */
  storeDir: string;
  /** host:port of its health over HTTP; absent: none. */
  monitor?: string;
}

/** The configuration of nats-server: JetStream on disk, mutual TLS with the certificate as the user. */
export function natsConfig({ listen, tls, storeDir, monitor }: NatsPlaces): string {
  // NATS' own format takes JSON for values.
  return [
    `listen: ${JSON.stringify(listen)}`,
    ...(monitor ? [`http: ${JSON.stringify(monitor)}`] : []),
    `server_name: "countersign-dev"`,
    `jetstream: ${JSON.stringify({ store_dir: storeDir, max_mem: 67_108_864, max_file: 1_073_741_824 })}`,
    `tls: ${JSON.stringify({ cert_file: tls.cert, key_file: tls.key, ca_file: tls.ca, verify_and_map: true, timeout: 5 })}`,
    `accounts: ${JSON.stringify(natsAccounts())}`,
    "",
  ].join("\n");
}
