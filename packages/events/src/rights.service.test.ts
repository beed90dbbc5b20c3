import { services } from "@countersign/build/paths.ts";
import { uuidv4 } from "@countersign/core";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { createLogger } from "@countersign/runtime";
import { Events, type JetStreamManager, type NatsConnection } from "nats";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { API_PREFIX, DURABLE_SETTINGS, DURABLES, type Durable } from "./consumers.ts";
import { startConsumer } from "./index.ts";
import { natsAccounts } from "./nats-accounts.ts";
import { listEventStreams, setUpEvents } from "./set-up.ts";
import { EVENTS_STREAM, partitionOf, partitionStreams } from "./stream.ts";
import { beginNats, type TestNats } from "./testing/nats-server.ts";

/** Attempts of an attacker at NATS with the certificate and key of one service. */
const victim = "auth-chain-alerts";
const account = "019a0000-0000-7000-8000-000000000001";

let nats: TestNats;
let operator: NatsConnection;
let manager: JetStreamManager;
const opened: NatsConnection[] = [];
const as = async (service: string): Promise<NatsConnection> => {
  const connection = await nats.connectAs(service);
  opened.push(connection);
  return connection;
};

/** Publishes or subscribes, and returns what NATS rejected meanwhile. */
async function refusals(connection: NatsConnection, attempt: () => unknown): Promise<string[]> {
  const refused: string[] = [];
  const status = connection.status();
  const listening = (async () => {
    for await (const { type, permissionContext } of status) {
      if (type === Events.Error && permissionContext) refused.push(permissionContext.subject);
    }
  })();
  attempt();
  // NATS reports a rejection before the answer to a ping that was sent later.
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

describe.each([1, 4])("rights at NATS with partitions: %i", (partitions) => {
  /** The stream of the account's events. */
  const stream =
    partitions === 1 ? EVENTS_STREAM : partitionStreams(partitions)[partitionOf(account, partitions)]!.name;
  const next = `${API_PREFIX}.CONSUMER.MSG.NEXT.${stream}`;
  /** The number of its first event. */
  const first = partitions === 1 ? 1 : 1_000_000_000;
  const setUp = () => setUpEvents(operator, { partitions });
  /** Subjects to which NATS maps another service's event, for each partition. */
  const mapped = Array.from({ length: 4 }, (_, each) => `cs.partition.${each}.v1.account.${account}.chain-alert`);

  beforeAll(async () => {
    nats = await beginNats({ partitions });
    operator = await nats.connectAs("operator");
    manager = await operator.jetstreamManager();
  });

  afterAll(() => nats?.end());

  // A consumer of an earlier test would ask again where the next test makes its durable again.
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((connection) => connection.close()));
  });

  /** The subject at which the alert that auth is handling is acknowledged. */
  let ack: string;
  beforeEach(async () => {
    for (const each of await listEventStreams(manager)) await manager.streams.delete(each);
    await setUp();
    const emitter = await as("account");
    await publish(emitter, `cs.v1.account.${account}.chain-alert`);
    await publish(emitter, `cs.v1.account.${account}.chain-alert`);
    const auth = await (await as("auth")).jetstream({ apiPrefix: API_PREFIX }).consumers.get(stream, victim);
    const message = await auth.next({ expires: 2_000 });
    expect(message?.subject).toContain("chain-alert");
    ack = (message as unknown as { reply: string }).reply;
  });

  const thieves = services.flatMap((service) =>
    [...DURABLE_SETTINGS.keys()]
      .filter((durable) => !Object.hasOwn(DURABLES[service], durable))
      .map((durable) => ({ service, durable })),
  );

  it.each(["device", "key", "account", "signer"])("%s cannot take an alert out of auth's hands", async (service) => {
    const thief = await as(service);
    const before = await manager.consumers.info(stream, victim);
    expect(before).toMatchObject({ num_ack_pending: 1, num_pending: 1 });
    const place = `${stream}.${victim}`;
    const settings = (name: object, action: string) =>
      JSON.stringify({
        stream_name: stream,
        action,
        config: { ...name, ack_policy: "none", filter_subject: "cs.v1.key.>", inactive_threshold: 1_000_000 },
      });
    const inbox = `_INBOX.${service}.x`;
    const tail = ack.split(".").slice(2).join(".");
    const asked: [string, string][] = [
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
        [`$JS.API.CONSUMER.CREATE.${stream}`, settings({ name: victim }, action)],
      ]),
      ...["+ACK", "-NAK", "+TERM", "+WPI", "+NXT"].flatMap((word): [string, string][] => [
        [ack, word],
        [`$JS.ACK._.f8Lg37VQ.${tail}`, word],
        [`$JS.ACK._.any.${tail}`, word],
      ]),
      [`$JS.FC.${place}.1`, ""],
      [`cs.v1.${service === "account" ? "auth" : "account"}.${account}.chain-alert`, "forged"],
      // Not even its own events: NATS alone chooses the partition.
      ...[...mapped, `cs.partition.0.v1.${service}.${account}.any`].map((to): [string, string] => [to, "forged"]),
      ...["UPDATE", "DELETE", "PURGE", "MSG.DELETE", "SNAPSHOT", "RESTORE", "LEADER.STEPDOWN"].map(
        (word): [string, string] => [`$JS.API.STREAM.${word}.${stream}`, JSON.stringify({ seq: 1 })],
      ),
      ["$JS.API.STREAM.CREATE.OTHER", JSON.stringify({ name: "OTHER", subjects: ["other"] })],
    ];
    // In the form of the events' account, and in that of a service.
    const attempts = asked.flatMap(([subject, payload]): [string, string][] =>
      subject.startsWith("$JS.API.")
        ? [
            [subject, payload],
            [subject.replace("$JS.API", API_PREFIX), payload],
          ]
        : [[subject, payload]],
    );
    const refused = await refusals(thief, () => {
      for (const [subject, payload] of attempts) thief.publish(subject, payload, { reply: inbox });
    });
    expect(refused).toEqual(attempts.map(([subject]) => subject));
    expect(await manager.consumers.info(stream, victim)).toMatchObject({
      num_ack_pending: 1,
      num_pending: 1,
      config: before.config,
    });
  });

  it("no service has rights at another service's consumers, or may create one", () => {
    const accounts = natsAccounts(partitions);
    for (const { service, durable } of thieves) {
      const text = JSON.stringify(accounts[service.toUpperCase()]);
      expect(text).not.toContain(`.${durable}`);
      expect(text).not.toMatch(
        /CREATE|DELETE|PURGE|UPDATE|CS_EVENTS(_\d)?\.[*>]|CS_EVENTS_[*>]|cs\.partition\.|(API|ACK|CONSUMER|NEXT|INFO|GET|api)\.[*>]/,
      );
    }
    expect(JSON.stringify(accounts)).not.toContain("gateway");
  });

  it("an answer of NATS cannot be redirected to a subject that another service may request", async () => {
    const thief = await as("key");
    await publish(thief, `cs.v1.key.${account}.key-revoked`);
    const targets = [
      `cs.v1.account.${account}.chain-alert`,
      ...["STREAM.PURGE", "STREAM.DELETE"].map((word) => `$JS.API.${word}.${stream}`),
      `$JS.API.CONSUMER.DELETE.${stream}.${victim}`,
      `${API_PREFIX}.CONSUMER.DELETE.${stream}.${victim}`,
      `cs.feed.account.${account}.chain-alert`,
      `cs.partition-feed.0.account.${account}.chain-alert`,
      ...mapped,
      "_R_.abcdef.ghijkl",
      ack,
    ];
    // A fetch without events: NATS answers to any subject that the request names. If that is allowed, the
    // headers of the answer alone can purge a stream.
    const empty = JSON.stringify({ batch: 1, no_wait: true });
    for (const reply of targets) {
      thief.publish(`${next}.key-account-keys-changed`, empty, { reply });
      thief.publish(`cs.v1.key.${account}.key-revoked`, "", { reply });
      thief.publish(`${API_PREFIX}.CONSUMER.INFO.${stream}.key-account-keys-changed`, "", { reply });
      thief.publish(`$JS.ACK.${stream}.key-account-keys-changed.1.1.1.1.1`, "+NXT", { reply });
    }
    await thief.flush();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await manager.consumers.info(stream, victim)).toMatchObject({ num_ack_pending: 1, num_pending: 1 });
    const { state } = await manager.streams.info(stream, { subjects_filter: "cs.v1.account.>" });
    expect(Object.values(state.subjects ?? {})).toEqual([2]);
    expect(state.first_seq).toBe(first);
  });

  it("no service creates or changes the stream, and repeating the set-up changes nothing", async () => {
    const { config } = await manager.streams.info(stream);
    const thief = await as("key");
    const changes = [{}, { max_age: 24 * 3_600 * 1_000_000_000 }, { max_msgs: 1 }, { subjects: ["cs.v1.key.>"] }];
    for (const word of ["CREATE", "UPDATE"]) {
      for (const api of ["$JS.API", API_PREFIX]) {
        const subject = `${api}.STREAM.${word}.${stream}`;
        for (const change of changes) {
          const attempt = () => thief.publish(subject, JSON.stringify({ ...config, ...change }), { reply: "_INBOX.x" });
          expect(await refusals(thief, attempt)).toEqual([subject]);
        }
      }
    }
    await setUp();
    expect((await manager.streams.info(stream)).config).toEqual(config);
  });

  it("a stream of an earlier version gets this version's time for which NATS knows ids, and keeps its events", async () => {
    const { config, state } = await manager.streams.info(stream);
    await manager.streams.update(stream, { ...config, duplicate_window: 2 * 3_600 * 1_000_000_000 });
    await setUp();
    const after = await manager.streams.info(stream);
    expect(after.config).toEqual(config);
    expect(after.state.messages).toBe(state.messages);
  });

  it("a later version's settings of a consumer replace the present ones", async () => {
    const earlier = { max_deliver: 7, filter_subjects: ["cs.v1.account.*.chain-alert", "cs.v1.account.*.other"] };
    await manager.consumers.update(stream, victim, earlier);
    await setUp();
    const { config, delivered } = await manager.consumers.info(stream, victim);
    expect(config).toMatchObject({ max_deliver: 2_100, filter_subjects: ["cs.v1.account.*.chain-alert"] });
    expect(delivered.stream_seq).toBe(first);
  });

  it("the operator copies a stream, and brings it back with what its consumers have handled", async () => {
    const { state, config } = await manager.streams.info(stream);
    await (await as("auth")).request(ack, "+ACK");
    const chunks: Uint8Array[] = [];
    const whole = Promise.withResolvers<void>();
    operator.subscribe("_INBOX.copy", {
      callback(_, message) {
        if (message.data.length === 0) return whole.resolve();
        chunks.push(message.data);
        message.respond();
      },
    });
    const question = JSON.stringify({ deliver_subject: "_INBOX.copy" });
    const refused = await refusals(operator, () => operator.publish(`$JS.SNAPSHOT.ACK.${stream}.x`));
    expect(refused).toEqual([]);
    await operator.request(`$JS.API.STREAM.SNAPSHOT.${stream}`, question);
    await whole.promise;
    await manager.streams.delete(stream);

    const answer = await operator.request(`$JS.API.STREAM.RESTORE.${stream}`, JSON.stringify({ config, state }));
    const { deliver_subject: to } = answer.json<{ deliver_subject: string }>();
    for (const chunk of [...chunks, new Uint8Array()]) await operator.request(to, chunk, { timeout: 10_000 });
    await setUp();
    expect((await manager.streams.info(stream)).state).toMatchObject({ messages: 2, last_seq: first + 1 });
    expect(await manager.consumers.info(stream, victim)).toMatchObject({ num_ack_pending: 0, num_pending: 1 });
  });

  it("a consumer that gets a further subject has passed its earlier events; a new consumer gets them", async () => {
    const other = `cs.v1.account.${account}.account-updated`;
    await publish(await as("account"), other);
    await publish(await as("account"), `cs.v1.account.${account}.chain-alert`);
    const filter_subjects = ["cs.v1.account.*.chain-alert", "cs.v1.account.*.account-updated"];
    const auth = await operator.jetstream().consumers.get(stream, victim);
    for (let taken = 0; taken < 2; taken += 1) (await auth.next({ expires: 2_000 }))!.ack();
    await manager.consumers.update(stream, victim, { filter_subjects });
    expect((await manager.consumers.info(stream, victim)).num_pending).toBe(0);
    const { num_pending } = await manager.consumers.add(stream, { durable_name: "new", filter_subjects: [other] });
    expect(num_pending).toBe(1);
  });

  it("no service can subscribe to subjects of others", async () => {
    const thief = await as("key");
    const subjects = [
      "cs.v1.>",
      "cs.feed.>",
      "cs.feeds.>",
      "cs.partition.>",
      "cs.api.>",
      "$JS.ACK.>",
      `cs.v1.account.${account}.chain-alert`,
      ">",
      "$JS.>",
    ];
    const refused = await refusals(thief, () => {
      for (const subject of subjects) thief.subscribe(subject, { callback: () => undefined });
    });
    expect(refused.sort()).toEqual([...subjects].sort());
  });

  it("a service's events are stored as its own, with any account in their subject", async () => {
    const thief = await as("key");
    const tokens = ["{{partition(4,2)}}", "$1", "$JS", "cs", "0", account];
    for (const token of tokens) await publish(thief, `cs.v1.key.${token}.key-revoked`);
    await publish(thief, `cs.v1.key.${account}.cs.v1.account.${account}.chain-alert`);
    await publish(thief, "cs.v1.key.chain-alert");
    const counts: number[] = [];
    for (const each of await listEventStreams(manager)) {
      const { state } = await manager.streams.info(each, { subjects_filter: "cs.v1.key.>" });
      counts.push(...Object.values(state.subjects ?? {}));
      const alerts = await manager.streams.info(each, { subjects_filter: "cs.v1.account.>" });
      expect(Object.values(alerts.state.subjects ?? {}), each).toEqual(each === stream ? [2] : []);
    }
    expect(counts.reduce((sum, count) => sum + count)).toBe(tokens.length + 2);
  });

  it("answers of NATS to one service reach no other", async () => {
    const thief = await as("key");
    const received: string[] = [];
    thief.subscribe("_INBOX.>", { callback: (_, message) => void received.push(message.subject) });
    await thief.flush();
    await publish(await as("account"), `cs.v1.account.${account}.chain-alert`);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(received).toEqual([]);
  });

  it("own use works: every durable of every service takes an event and acknowledges it", {
    timeout: 60_000,
  }, async () => {
    const logger = createLogger({ name: "test", level: process.env.CS_LOG_LEVEL ?? "silent" });
    for (const service of services) {
      const link = nats.linkAs(service);
      for (const durable of Object.keys(DURABLES[service]) as Durable[]) {
        const subject = DURABLE_SETTINGS.get(durable)!.filter[0]!.replace("*", account);
        const got = Promise.withResolvers<string>();
        const consumer = startConsumer({
          nats: link,
          logger,
          durable,
          handler: async (delivered) => {
            if (delivered.subject === subject) got.resolve(delivered.subject);
          },
        });
        await publish(await as(subject.split(".")[2]!), subject);
        expect(await got.promise, durable).toBe(subject);
        const settled = async () => (await manager.consumers.info(stream, durable)).num_ack_pending;
        // The event that is being handled above comes again later.
        if (durable !== victim) await expect.poll(settled).toBe(0);
        await consumer.close();
      }
      await link.close();
    }
  });

  it("the second form of acknowledgements is limited to a service's own consumers as well", async () => {
    const tail = ack.split(".").slice(2).join(".");
    const auth = await as("auth");
    expect(await refusals(auth, () => auth.publish(`$JS.ACK._.f8Lg37VQ.${tail}`, "+ACK"))).toEqual([]);
    const settled = async () => (await manager.consumers.info(stream, victim)).num_ack_pending;
    await expect.poll(settled).toBe(0);
  });
});
