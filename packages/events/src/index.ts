export { type ConsumerOptions, type DeliveredEvent, type EventConsumer, startConsumer } from "./consumer.ts";
export { DURABLES, type Durable, FED_SUBJECTS } from "./consumers.ts";
export { type EventFeed, type FedEvent, type FeedOptions, type StoredEvent, startEventFeed } from "./feed.ts";
export { linkNats, type NatsLink, type NatsOptions } from "./nats.ts";
export { type EventContext, eventRow, type OutboxRow, outboxRow } from "./outbox-row.ts";
export { type OutboxPublisher, type OutboxPublisherOptions, startOutboxPublisher } from "./publisher.ts";
export { setUpEvents } from "./set-up.ts";
export { EVENTS_STREAM, EVENTS_SUBJECTS } from "./stream.ts";
