import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { connect as connectTcp } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DURABLES, FEED_CONSUMERS, inboxPrefix } from "@countersign/outbox/consumers.ts";
import { dnsName, type TlsFiles, tlsFiles } from "./certificates.ts";
import { type Child, logTail, type StartChild, startChild } from "./child.ts";
import { Failure } from "./fail.ts";
import { services } from "./paths.ts";

const stream = "CS_EVENTS";

/** The names that nats-server has in the subjects of acknowledgements, of their second form, for JetStream without a domain and the account without a name. */
const ackPlaces = ["", `_.${accountHash("$G")}.`];

/** As nats-server shortens an account's name: bytes of its SHA-256, each as a digit of 62. */
function accountHash(account: string): string {
  const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const hash = createHash("sha256").update(account).digest().subarray(0, 8);
  return Array.from(hash, (byte) => digits[byte % digits.length]).join("");
}

/** What every service asks JetStream. An existing stream is not changed by CREATE; UPDATE is the operator's. */
const everybody = ["$JS.API.INFO", `$JS.API.STREAM.INFO.${stream}`, `$JS.API.STREAM.CREATE.${stream}`];

/** A consumer of its own: make and look at it, fetch, acknowledge. */
const ownConsumer = (durable: string): string[] => [
  `$JS.API.CONSUMER.DURABLE.CREATE.${stream}.${durable}`,
  `$JS.API.CONSUMER.INFO.${stream}.${durable}`,
  `$JS.API.CONSUMER.MSG.NEXT.${stream}.${durable}`,
  ...ackPlaces.map((place) => `$JS.ACK.${place}${stream}.${durable}.>`),
];

/** A feed's consumer, that comes and goes with a process and is not acknowledged to. */
const feedConsumer = (name: string): string[] => [
  `$JS.API.CONSUMER.CREATE.${stream}.${name}.>`,
  `$JS.API.CONSUMER.INFO.${stream}.${name}`,
  `$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`,
  `$JS.API.CONSUMER.DELETE.${stream}.${name}`,
];

interface Permissions {
  publish: string[];
  subscribe: string[];
}

/**
 * Who may do what, by the DNS name of the certificate. Each service has its own subjects, consumers and answers, so that one that is broken in swallows nothing
 * that others wait for. The gateway has no business here.
 */
export function natsUsers(): Record<string, Permissions> {
  const users: Record<string, Permissions> = {};
  for (const service of services) {
    users[dnsName(service)] = {
      publish: [`cs.v1.${service}.>`, ...everybody, ...DURABLES[service].flatMap(ownConsumer)],
      subscribe: [`${inboxPrefix(service)}.>`],
    };
  }
  // Follows the stream with each process, and reads an account's past one by one, for streams that resume.
  const feeds = FEED_CONSUMERS.flatMap(feedConsumer);
  users[dnsName("device")]?.publish.push(`$JS.API.STREAM.MSG.GET.${stream}`, ...feeds);
  // Sets streams up and looks into them, and is nobody's at run time.
  users[dnsName("operator")] = { publish: ["$JS.API.>", "$JS.ACK.>"], subscribe: ["cs.v1.>", "_INBOX.>"] };
  return users;
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
  const users = Object.entries(natsUsers()).map(([user, permissions]) => ({ user, permissions }));
  // NATS' own format takes JSON for values.
  return [
    `listen: ${JSON.stringify(listen)}`,
    ...(monitor ? [`http: ${JSON.stringify(monitor)}`] : []),
    `server_name: "countersign-dev"`,
    `jetstream: ${JSON.stringify({ store_dir: storeDir, max_mem: 67_108_864, max_file: 1_073_741_824 })}`,
    `tls: ${JSON.stringify({ cert_file: tls.cert, key_file: tls.key, ca_file: tls.ca, verify_and_map: true, timeout: 5 })}`,
    `authorization: ${JSON.stringify({ users })}`,
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

/** Starts nats-server and waits until it greets. */
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
  return child;
}
