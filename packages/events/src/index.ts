export { type ConsumerOptions, type DeliveredEvent, startConsumer } from "./consumer.ts";
export { type EventFeed, type FedEvent, type StoredEvent, startEventFeeds } from "./feed.ts";
export { linkNats, type NatsLink } from "./nats.ts";
export { eventRow, type OutboxRow } from "./outbox-row.ts";
export { startOutboxPublisher } from "./publisher.ts";
