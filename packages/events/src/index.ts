export { type ConsumerOptions, type DeliveredEvent, startConsumer } from "./consumer.ts";
export type { Durable } from "./consumers.ts";
export { type EventFeed, type FedEvent, type StoredEvent, startEventFeeds } from "./feed.ts";
export { linkNats, type NatsLink } from "./nats.ts";
export { eventRow, type OutboxRow, outboxRow } from "./outbox-row.ts";
export { startOutboxPublisher } from "./publisher.ts";
export { setUpEvents } from "./set-up.ts";
export { EVENTS_STREAM } from "./stream.ts";
