import { listEventStreams } from "@countersign/events/set-up.ts";
import { readTls, tlsFiles } from "@countersign/local-stack/certificates.ts";
import { connect, type NatsConnection } from "nats";
import { afterAll, beforeAll, expect, it } from "vitest";
import { query } from "../security/token-forge.ts";
import { secondPhone, signUpPerson, stack, tokenOf } from "../support/person.ts";
import { call } from "../support/raw-request.ts";
import { deviceLog, noticesSince } from "./notice-log.ts";

const SERVICES = ["auth", "device", "key", "account", "signer"];
let operator: NatsConnection;
const publishers = new Map<string, NatsConnection>();

async function connectAs(name: string): Promise<NatsConnection> {
  const { ca, cert, key } = readTls(tlsFiles(stack.stateDir, name));
  const tls = { ca: ca.toString(), cert: cert.toString(), key: key.toString() };
  return connect({ servers: stack.nats, tls });
}
beforeAll(async () => {
  operator = await connectAs("operator");
  for (const name of SERVICES) publishers.set(name, await connectAs(name));
});
afterAll(async () => {
  await Promise.all([operator, ...publishers.values()].map((connection) => connection.close()));
});

/** Returns the account's rows in every table of every service, apart from events that wait. */
async function rowsOf(accountId: string): Promise<string[]> {
  const rows: string[] = [];
  for (const service of SERVICES) {
    const tables = await query<{ table: string }>(
      service,
      `SELECT table_name AS "table" FROM information_schema.columns
       WHERE table_schema = 'public' AND column_name = 'account_id' ORDER BY table_name`,
    );
    for (const { table } of tables) {
      const text = `SELECT row_to_json(t)::text AS row FROM "${table}" AS t WHERE account_id = $1 ORDER BY 1`;
      const found = await query<{ row: string }>(service, text, [accountId]);
      rows.push(...found.map(({ row }) => `${service}.${table} ${row}`));
    }
  }
  return rows;
}

/** Waits until the services have published and consumed everything. After a freeze, voiding takes a while. */
async function untilIdle(): Promise<void> {
  const manager = await operator.jetstreamManager();
  const waiting = async (): Promise<string[]> => {
    const found: string[] = [];
    for (const service of SERVICES) {
      if ((await query(service, "SELECT 1 FROM outbox")).length > 0) found.push(`outbox of ${service}`);
    }
    for (const stream of await listEventStreams(manager)) {
      for await (const { name, num_pending, num_ack_pending, num_redelivered } of manager.consumers.list(stream)) {
        // An approval of another test's account is delivered again for as long as that account is frozen.
        const others = name.startsWith("auth-two-factor-changed") ? num_redelivered : 0;
        if (num_pending + num_ack_pending - others > 0) found.push(name);
      }
    }
    return found;
  };
  // Twice: what a consumer does may make an event.
  for (let times = 0; times < 2; times++) await expect.poll(waiting, { timeout: 50_000, interval: 100 }).toEqual([]);
}

it("events that are in the stream again, after NATS has forgotten their ids, change nothing and notify nobody", {
  timeout: 240_000,
}, async () => {
  const start = deviceLog().length;
  const person = await signUpPerson();
  const { id: accountId } = person.signedUp.account;
  await person.client.updateDevice({ pushToken: `token-of-${person.email}` });
  const other = await secondPhone(person);
  expect((await call("POST", "/account/v1/freeze", { token: tokenOf(other) })).status).toBe(204);
  await untilIdle();
  const before = await rowsOf(accountId);
  expect(noticesSince(start).length).toBeGreaterThan(2);
  const end = deviceLog().length;

  const manager = await operator.jetstreamManager();
  const { streams } = manager;
  const subjects_filter = `cs.v1.*.${accountId}.>`;
  const names = await listEventStreams(manager);
  const found = await Promise.all(names.map((name) => streams.info(name, { subjects_filter })));
  const stream = found.find((info) => info.state.subjects !== undefined)!.config.name;
  const count = () => streams.info(stream, { subjects_filter }).then((info) => info.state);
  const state = await count();
  let repeated = 0;
  for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
    const stored = await streams.getMessage(stream, { seq });
    const [, , service = "", account] = stored.subject.split(".");
    if (account !== accountId) continue;
    await publishers
      .get(service)!
      .jetstream()
      .publish(stored.subject, stored.data, { msgID: `again-${seq}` });
    repeated += 1;
  }
  expect(repeated).toBeGreaterThan(8);
  await untilIdle();
  expect(await rowsOf(accountId)).toEqual(before);
  expect(noticesSince(end)).toEqual([]);
  const subjects = Object.values((await count()).subjects ?? {});
  // No service has answered with an event of its own.
  expect(subjects.reduce((sum, each) => sum + each, 0)).toBe(2 * repeated);
});
