import { type Logger, uuidv7 } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { sql } from "@countersign/postgres";
import { afterEach, beforeEach } from "vitest";
import { postgresWebhookStore } from "../store/postgres-webhook-store.ts";
import type { WebhookEndpoint } from "../webhooks/config.ts";
import { type DeliverOptions, deliverDue } from "../webhooks/deliver.ts";
import type { Attempt, Sent } from "../webhooks/send.ts";
import { silentLogger } from "./silent-logger.ts";
import { postgres } from "./store-fixture.ts";

const endpoint: WebhookEndpoint = {
  id: "wallet",
  appId: "wallet",
  url: "https://h.example",
  secrets: [],
  types: [],
};
export const ok: Attempt = { delivered: true, text: "status 200" };
export const no: Attempt = { delivered: false, text: "status 500" };

/** Webhooks in Postgres, and a receiver in memory; empty ones for each test of a file. */
export function webhookQueues() {
  const begin = () => ({
    store: postgresWebhookStore(postgres),
    clock: new FixedClock("2026-11-23T10:00:00Z"),
    /** The ids of the messages that the receiver got, in their order. */
    seen: [] as string[],
    /** How the receiver answers a message. */
    answer: (_: Sent): Attempt | Promise<Attempt> => ok,
    outcomes: [] as string[],
  });
  const newAccount = () => uuidv7(world.clock);
  const rows = () =>
    postgres.query<{ eventId: string; state: string; attempts: number; result: string }>(sql`
      SELECT event_id AS "eventId", state, attempts, last_result AS result FROM webhook_delivery ORDER BY event_id`);
  const world = {
    ...begin(),
    newAccount,
    /** Queues an event; returns its id. */
    async add(accountId: string, endpoints = ["wallet"], type = "key.added"): Promise<string> {
      world.clock.advance(1);
      const eventId = uuidv7(world.clock);
      const body = `{"id":"${eventId}"}`;
      await world.store.add({ eventId, accountId, endpoints, type, body, now: world.clock.now() });
      return eventId;
    },
    /** Sends a message to the receiver. */
    async send(_: unknown, sent: Sent): Promise<Attempt> {
      world.seen.push(sent.id);
      return world.answer(sent);
    },
    /** A process: it delivers what is due to an endpoint, by its id. */
    newProcess: (options: Partial<DeliverOptions> = {}) =>
      deliverDue({
        store: world.store,
        send: world.send,
        endpoint: (id) => ({ ...endpoint, id }),
        clock: world.clock,
        logger: silentLogger as Logger,
        observe: (_, outcome) => void world.outcomes.push(outcome),
        ...options,
      }),
    work: (id = endpoint.id) => world.newProcess()(id),
    rows,
    stateOf: async (id: string) => (await rows()).find(({ eventId }) => eventId === id)?.state,
    queues: async () => (await postgres.query(sql`SELECT 1 FROM webhook_queue`)).length,
  };
  beforeEach(() => void Object.assign(world, begin()));
  afterEach(async () => {
    await postgres.execute(sql`DELETE FROM webhook_delivery`);
    await postgres.execute(sql`DELETE FROM webhook_queue`);
  });
  return world;
}
