import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect as connectTcp } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { API_PREFIX, DURABLES, FED_SUBJECTS } from "@countersign/events/consumers.ts";
import { setUpEvents } from "@countersign/events/set-up.ts";
import { connect } from "nats";
import { dnsName, type TlsFiles, tlsFiles } from "./certificates.ts";
import { type Child, logTail, type StartChild, startChild } from "./child.ts";
import { Failure } from "./fail.ts";
import { type ServiceName, services } from "./paths.ts";

const stream = "CS_EVENTS";

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
function rightsOf(service: ServiceName): Rights {
  const durables = Object.keys(DURABLES[service]);
  const feeds = service === "device";
  return {
    ask: [
      `cs.v1.${service}.>`,
      ...durables.flatMap((durable) => [
        `$JS.API.CONSUMER.INFO.${stream}.${durable}`,
        `$JS.ACK.${stream}.${durable}.>`,
        `$JS.ACK._.${accountHash(eventsAccount)}.${stream}.${durable}.>`,
      ]),
      // Follows the stream, and reads an account's past one by one, for streams that resume.
      ...(feeds ? [`$JS.API.STREAM.INFO.${stream}`, `$JS.API.STREAM.MSG.GET.${stream}`] : []),
    ],
    fetch: durables.map((durable) => `$JS.API.CONSUMER.MSG.NEXT.${stream}.${durable}`),
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
  for (const service of services) {
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
          user: dnsName(service),
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
    users: [{ user: dnsName("operator"), permissions }],
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

/** Whether the server greets: it speaks first. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectTcp({ port, host: "127.0.0.1" });
    const done = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("data", () => done(true));
    socket.once("error", () => done(false));
    socket.setTimeout(1000, () => done(false));
  });
}

/** Connects as the operator and sets up the stream and the consumers of all services. `url` is for example "tls://127.0.0.1:4222". */
export async function setUpNats(url: string, { ca, cert, key }: TlsFiles): Promise<void> {
  const read = (path: string) => readFileSync(path, "utf8");
  const tls = { ca: read(ca), cert: read(cert), key: read(key) };
  const operator = await connect({ servers: url, name: "set-up", tls, timeout: 5_000 });
  try {
    await setUpEvents(operator);
  } finally {
    await operator.close();
  }
}

/** Starts nats-server, waits until it greets, and sets it up. */
export async function startNats(options: {
  binary: string;
  stateDir: string;
  port: number;
  logFile: string;
  start?: StartChild;
}): Promise<Child> {
  mkdirSync(options.stateDir, { recursive: true });
  const config = join(options.stateDir, "nats.conf");
  const { stateDir, port } = options;
  const tls = tlsFiles(stateDir, "nats");
  const places = { listen: `127.0.0.1:${port}`, tls, storeDir: join(stateDir, "nats") };
  writeFileSync(config, natsConfig(places), { mode: 0o600 });
  const child = await (options.start ?? startChild)({
    name: "nats",
    command: options.binary,
    args: ["-c", config],
    logFile: options.logFile,
  });
  while (!(await answers(options.port))) {
    if (!child.running()) throw new Failure(`nats-server ended while it started:\n${logTail(options.logFile)}`);
    await sleep(50);
  }
  await setUpNats(`tls://127.0.0.1:${options.port}`, tlsFiles(stateDir, "operator"));
  return child;
}
