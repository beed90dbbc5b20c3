import { type Logger, uuidv4 } from "@countersign/core";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { createLogger } from "@countersign/runtime";
import type { NatsConnection } from "nats";
import { type ConsumerOptions, type DeliveredEvent, startConsumer } from "../consumer.ts";
import { exportEvents } from "../export-events.ts";
import { startEventFeeds } from "../feed.ts";
import { partitionOf, partitionStreams } from "../stream.ts";
import type { TestNats } from "./nats-server.ts";

export const PARTITIONS = 4;
export const NAMES = partitionStreams(PARTITIONS).map(({ name }) => name);
/** Above the numbers of the stream from before. */
export const FIRST = 1_000_000_000;
/** The consumer of auth that the tests use. */
export const DURABLE = "auth-chain-alerts";
export const logger = createLogger({ name: "test", level: process.env.CS_LOG_LEVEL ?? "silent" });

const closers: (() => Promise<void>)[] = [];
/** Ends what the test has started. */
export const closeAll = () => Promise.all(closers.splice(0).map((close) => close()));
/** Ends something with the test. */
export const closeLater = (close: () => Promise<void>): void => void closers.push(close);

/** Starts a replica of auth. */
export function consume(
  nats: TestNats,
  handler: (delivered: DeliveredEvent) => Promise<void>,
  options: Pick<ConsumerOptions, "concurrency" | "measureMs"> = {},
): void {
  const link = nats.linkAs("auth");
  const consumer = startConsumer({ nats: link, logger, durable: DURABLE, handler, ...options });
  closeLater(() => consumer.close().then(() => link.close()));
}

/** Follows the events as device does; returns what it saw. */
export function follow(nats: TestNats, log: Logger = logger) {
  const link = nats.linkAs("device");
  const seen: string[] = [];
  const feeds = startEventFeeds({
    nats: link,
    logger: log,
    onEvent: ({ sequence, subject }) => void seen.push(`${sequence} ${subject}`),
    onBreak: () => void seen.push("break"),
  });
  closeLater(() => feeds.close().then(() => link.close()));
  return { feeds, seen };
}

export const subjectOf = (accountId: string) => `cs.v1.account.${accountId}.chain-alert`;

export function publish(connection: NatsConnection, accountId: string, id = uuidv4()) {
  const event = Event.encode(Event.fromPartial({ id, accountId })).finish();
  return connection.jetstream({ timeout: 1_000 }).publish(subjectOf(accountId), event, { msgID: id });
}

/** Returns an account of a partition. */
export function accountIn(partition: number): string {
  for (;;) {
    const accountId = uuidv4();
    if (partitionOf(accountId, PARTITIONS) === partition) return accountId;
  }
}

/** Exports the events since a time. */
export async function exported(nats: TestNats, since: Date) {
  const events: { subject: string; event: string }[] = [];
  for await (const event of exportEvents(nats.url, nats.tlsOf("operator"), since)) events.push(event);
  return events;
}
