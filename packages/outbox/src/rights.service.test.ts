import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { createLogger, loadTls, uuidv4 } from "@countersign/service-kit";
import { AckPolicy, connect, Events, type JetStreamManager, type NatsConnection } from "nats";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ensureCertificates, tlsFiles } from "../../../dev/src/certificates.ts";
import type { Child } from "../../../dev/src/child.ts";
import { natsUsers, startNats } from "../../../dev/src/nats.ts";
import { cacheDir, services } from "../../../dev/src/paths.ts";
import { freePort } from "../../../dev/src/ports.ts";
import { DURABLES, FEED_CONSUMERS } from "./consumers.ts";
import { EVENTS_STREAM, startConsumer } from "./index.ts";
import { ensureEventsStream } from "./stream.ts";

/** What somebody can do at NATS who has broken into one service, and has its certificate and key. */
const binary = process.env.CS_NATS_SERVER ?? join(cacheDir(), "bin/nats-server-v2.15.2");
const victim = "auth-chain-alerts";
const feed = FEED_CONSUMERS[0]!;
const filter = "cs.v1.account.*.chain-alert";
const account = "019a0000-0000-7000-8000-000000000001";

let stateDir: string;
let port: number;
let nats: Child;
let operator: NatsConnection;
let manager: JetStreamManager;
const opened: NatsConnection[] = [];

async function as(service: string): Promise<NatsConnection> {
  const { ca, cert, key } = loadTls(tlsFiles(stateDir, service));
  const connection = await connect({
    servers: `tls://127.0.0.1:${port}`,
    tls: { ca: ca.toString(), cert: cert.toString(), key: key.toString() },
    inboxPrefix: `_INBOX.${service}`,
  });
  opened.push(connection);
  return connection;
}

/** Publishes or subscribes, and gives what NATS refused meanwhile. */
async function refusals(connection: NatsConnection, attempt: () => unknown): Promise<string[]> {
  const refused: string[] = [];
  const status = connection.status();
  const listening = (async () => {
    for await (const { type, permissionContext } of status) {
      if (type === Events.Error && permissionContext) refused.push(permissionContext.subject);
    }
  })();
  attempt();
  // What NATS refuses it says before the answer to a ping that came later.
  await connection.flush();
  await new Promise(setImmediate);
  (status as unknown as { stop(): void }).stop();
  await listening;
  return refused;
}

const publish = (connection: NatsConnection, subject: string) =>
  connection
    .jetstream()
    .publish(subject, Event.encode(Event.fromPartial({ id: uuidv4(), accountId: account })).finish());

describe.skipIf(!existsSync(binary))("rights at NATS", () => {
  beforeAll(async () => {
    stateDir = mkdtempSync(join(tmpdir(), "countersign-rights-"));
    await ensureCertificates(stateDir);
    port = await freePort();
    nats = await startNats({ binary, stateDir, port, logFile: join(stateDir, "nats.log") });
    operator = await as("operator");
    manager = await operator.jetstreamManager();
  });

  afterAll(async () => {
    await Promise.all(opened.map((connection) => connection.close()));
    await nats?.stop();
    rmSync(stateDir, { recursive: true, force: true });
  });

  /** Where the alert that auth has in hand is acknowledged. */
  let ack: string;
  beforeEach(async () => {
    await manager.streams.delete(EVENTS_STREAM).catch(() => undefined);
    await ensureEventsStream(manager);
    const own = await (await as("auth")).jetstreamManager();
    const settings = { durable_name: victim, ack_policy: AckPolicy.Explicit, filter_subjects: [filter] };
    await own.consumers.add(EVENTS_STREAM, settings);
    const device = await (await as("device")).jetstreamManager();
    await device.consumers.add(EVENTS_STREAM, { name: feed, ack_policy: AckPolicy.None, filter_subject: "cs.v1.>" });
    const teller = await as("account");
    await publish(teller, `cs.v1.account.${account}.chain-alert`);
    await publish(teller, `cs.v1.account.${account}.chain-alert`);
    const auth = await (await as("auth")).jetstream().consumers.get(EVENTS_STREAM, victim);
    const message = await auth.next({ expires: 2_000 });
    expect(message?.subject).toContain("chain-alert");
    ack = (message as unknown as { reply: string }).reply;
  });

  const thieves = services.flatMap((service) =>
    Object.values(DURABLES)
      .flat()
      .filter((durable) => !(DURABLES[service] as readonly string[]).includes(durable))
      .map((durable) => ({ service, durable })),
  );

  it.each(["device", "key", "account", "signer"])("%s cannot take an alert out of auth's hands", async (service) => {
    const thief = await as(service);
    const before = await manager.consumers.info(EVENTS_STREAM, victim);
    expect(before).toMatchObject({ num_ack_pending: 1, num_pending: 1 });
    const place = `${EVENTS_STREAM}.${victim}`;
    const settings = (name: object, action: string) =>
      JSON.stringify({
        stream_name: EVENTS_STREAM,
        action,
        config: { ...name, ack_policy: "none", filter_subject: "cs.v1.key.>", inactive_threshold: 1_000_000 },
      });
    const inbox = `_INBOX.${service}.x`;
    const tail = ack.split(".").slice(2).join(".");
    const attempts: [string, string][] = [
      [`$JS.API.CONSUMER.MSG.NEXT.${place}`, "1"],
      [`$JS.API.CONSUMER.DELETE.${place}`, ""],
      [`$JS.API.CONSUMER.PAUSE.${place}`, JSON.stringify({ pause_until: "2100-01-01T00:00:00Z" })],
      [`$JS.API.CONSUMER.RESET.${place}`, JSON.stringify({ seq: 100 })],
      [`$JS.API.CONSUMER.UNPIN.${place}`, JSON.stringify({ group: "x" })],
      [`$JS.API.CONSUMER.LEADER.STEPDOWN.${place}`, ""],
      [`$JS.API.CONSUMER.INFO.${place}`, ""],
      ...["", "create", "update"].flatMap((action): [string, string][] => [
        [`$JS.API.CONSUMER.DURABLE.CREATE.${place}`, settings({ durable_name: victim }, action)],
        [`$JS.API.CONSUMER.CREATE.${place}`, settings({ name: victim, durable_name: victim }, action)],
        [`$JS.API.CONSUMER.CREATE.${place}.cs.v1.key.>`, settings({ name: victim }, action)],
        // Without a name in the subject, the one in the settings counts.
        [`$JS.API.CONSUMER.CREATE.${EVENTS_STREAM}`, settings({ name: victim }, action)],
      ]),
      ...["+ACK", "-NAK", "+TERM", "+WPI", "+NXT"].flatMap((word): [string, string][] => [
        [ack, word],
        [`$JS.ACK._.szMpdrwD.${tail}`, word],
        [`$JS.ACK._.any.${tail}`, word],
      ]),
      [`$JS.FC.${place}.1`, ""],
      [`cs.v1.${service === "account" ? "auth" : "account"}.${account}.chain-alert`, "forged"],
      ...["UPDATE", "DELETE", "PURGE", "MSG.DELETE", "SNAPSHOT", "RESTORE", "LEADER.STEPDOWN"].map(
        (word): [string, string] => [`$JS.API.STREAM.${word}.${EVENTS_STREAM}`, JSON.stringify({ seq: 1 })],
      ),
      ["$JS.API.STREAM.CREATE.OTHER", JSON.stringify({ name: "OTHER", subjects: ["other"] })],
    ];
    const refused = await refusals(thief, () => {
      for (const [subject, payload] of attempts) thief.publish(subject, payload, { reply: inbox });
    });
    expect(refused).toEqual(attempts.map(([subject]) => subject));
    expect(await manager.consumers.info(EVENTS_STREAM, victim)).toMatchObject({
      num_ack_pending: 1,
      num_pending: 1,
      config: before.config,
    });
  });

  it("nobody has rights at a consumer that is another service's, nor at all of them", async () => {
    const users = natsUsers();
    for (const { service, durable } of thieves) {
      const { publish: may } = users[`${service}.countersign.internal`]!;
      expect(may.filter((subject) => subject.split(".").includes(durable))).toEqual([]);
      expect(
        may.filter((subject) => /^\$JS\..*(\*|(API|ACK|CONSUMER|CS_EVENTS|NEXT|CREATE|INFO)\.>)/.test(subject)),
      ).toEqual([]);
      if (service !== "device")
        expect(may.filter((subject) => subject.split(".").some((part) => FEED_CONSUMERS.includes(part)))).toEqual([]);
    }
  });

  it("no service changes the stream: creating it again with other settings is refused", async () => {
    const { config } = await manager.streams.info(EVENTS_STREAM);
    const thief = await (await as("key")).jetstreamManager();
    for (const change of [{ max_age: 24 * 3_600 * 1_000_000_000 }, { max_msgs: 1 }, { subjects: ["cs.v1.key.>"] }]) {
      const again = thief.streams.add({ ...config, ...change });
      await expect(again).rejects.toMatchObject({ api_error: { err_code: 10058 } });
    }
    expect((await manager.streams.info(EVENTS_STREAM)).config).toEqual(config);
  });

  it("nobody listens to what is not for them", async () => {
    const thief = await as("key");
    const subjects = [
      "_INBOX.>",
      "_INBOX.auth.>",
      "_INBOX.*.>",
      "cs.v1.>",
      `cs.v1.account.${account}.chain-alert`,
      ">",
      "$JS.>",
    ];
    const refused = await refusals(thief, () => {
      for (const subject of subjects) thief.subscribe(subject, { callback: () => undefined });
    });
    expect(refused.sort()).toEqual([...subjects].sort());
  });

  it("own use works: every durable of every service takes an event and acknowledges it", {
    timeout: 60_000,
  }, async () => {
    const logger = createLogger({ name: "test", level: process.env.CS_LOG_LEVEL ?? "silent" });
    for (const service of services) {
      for (const durable of DURABLES[service]) {
        const got = Promise.withResolvers<string>();
        const consumer = startConsumer({
          natsUrl: `tls://127.0.0.1:${port}`,
          tls: loadTls(tlsFiles(stateDir, service)),
          logger,
          durable,
          // The one that is there gets this filter: a later version of a service may want others.
          filter: ["cs.v1.account.*.chain-alert", "cs.v1.signer.*.delay-started"],
          handler: async ({ subject }) => got.resolve(subject),
        });
        expect(await got.promise, durable).toContain("chain-alert");
        const settled = async () => (await manager.consumers.info(EVENTS_STREAM, durable)).num_ack_pending;
        if (durable !== victim) await expect.poll(settled, { timeout: 10_000 }).toBe(0);
        await consumer.close();
      }
    }
  });

  it("the second form of acknowledgements is a service's own as well", async () => {
    const tail = ack.split(".").slice(2).join(".");
    const auth = await as("auth");
    expect(await refusals(auth, () => auth.publish(`$JS.ACK._.szMpdrwD.${tail}`, "+ACK"))).toEqual([]);
    const settled = async () => (await manager.consumers.info(EVENTS_STREAM, victim)).num_ack_pending;
    await expect.poll(settled).toBe(0);
  });
});
