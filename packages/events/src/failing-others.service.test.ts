import { uuidv4 } from "@countersign/core";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { createLogger } from "@countersign/runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startConsumer } from "./index.ts";
import { setUpEvents } from "./set-up.ts";
import { EVENTS_STREAM } from "./stream.ts";
import { beginNats, type TestNats } from "./testing/nats-server.ts";

const logger = createLogger({ name: "test", level: process.env.CS_LOG_LEVEL ?? "silent" });
/** More than NATS lets be unacknowledged by default. */
const FAILING = 1_100;

let nats: TestNats;

describe("a durable consumer", () => {
  beforeAll(async () => {
    nats = await beginNats();
  });
  afterAll(() => nats?.end());

  it("of an earlier version gets the limit of this one from the set-up", async () => {
    const operator = await nats.connectAs("operator");
    const { consumers } = await operator.jetstreamManager();
    const limit = async () => (await consumers.info(EVENTS_STREAM, "device-notices")).config.max_ack_pending;
    await consumers.update(EVENTS_STREAM, "device-notices", { max_ack_pending: 1_000 });
    expect(await limit()).toBe(1_000);
    await setUpEvents(operator);
    expect(await limit()).toBe(100_000);
  });

  it("gets an account's event while those of many others fail", { timeout: 20_000 }, async () => {
    const publisher = await nats.connectAs("auth");
    const publish = (accountId: string) => {
      const id = uuidv4();
      const event = Event.encode(Event.fromPartial({ id, accountId })).finish();
      return publisher.jetstream().publish(`cs.v1.auth.${accountId}.session-created`, event, { msgID: id });
    };
    await Promise.all(Array.from({ length: FAILING }, () => publish(uuidv4())));
    const other = uuidv4();
    await publish(other);
    const link = nats.linkAs("device");
    const arrived = Promise.withResolvers<void>();
    const consumer = startConsumer({
      nats: link,
      logger,
      durable: "device-notices",
      concurrency: 100,
      handler: async ({ event }) => {
        if (event.accountId !== other) throw new Error("their push service does not answer");
        arrived.resolve();
      },
    });
    await arrived.promise;
    await consumer.close();
    await link.close();
  });
});
