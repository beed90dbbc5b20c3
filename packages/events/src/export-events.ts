import type { TlsMaterial } from "@countersign/core";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { DeliverPolicy, type NatsConnection } from "nats";
import { connectOperator } from "./set-up.ts";
import { EVENTS_STREAM, EVENTS_SUBJECTS, type EventStream, eventStreams, partitionsIn } from "./stream.ts";

const WITHOUT = "skip this file, and give the restore commands --no-events";

/** Whether bytes are an event whose time can be read: others must not stop a restore. */
function isEvent(data: Uint8Array): boolean {
  try {
    return !Number.isNaN(Event.decode(data).occurredAt?.getTime());
  } catch {
    return false;
  }
}

/** Yields a stream's events since a time, with their times, without messages that are no events. */
async function* readSince(operator: NatsConnection, stream: string, since: Date) {
  const opt_start_time = since.toISOString();
  // Not a compromised service's, whose subject has a wildcard.
  const options = { deliver_policy: DeliverPolicy.StartTime, opt_start_time, filterSubjects: EVENTS_SUBJECTS };
  const consumer = await operator.jetstream().consumers.get(stream, options);
  let { num_pending: left } = await consumer.info();
  if (left === 0) return;
  for await (const { subject, data, info } of await consumer.consume()) {
    if (isEvent(data)) yield { at: info.timestampNanos, subject, event: Buffer.from(data).toString("base64") };
    left -= 1;
    if (left === 0) return;
  }
}

/** Yields the events of several streams, in base64, by their times. */
async function* byTime(streams: ReturnType<typeof readSince>[]) {
  const heads = await Promise.all(streams.map((stream) => stream.next()));
  for (;;) {
    let first = -1;
    for (const [index, { done, value }] of heads.entries())
      if (!done && (first < 0 || value.at < heads[first]!.value!.at)) first = index;
    if (first < 0) return;
    const { subject, event } = heads[first]!.value!;
    yield { subject, event };
    heads[first] = await streams[first]!.next();
  }
}

/**
 * Yields the events of all streams since a time, as the operator. Errors: Error before the first one where a
 * stream is missing, was created later, or keeps events for less time: some would be missing.
 */
export async function* exportEvents(natsUrl: string, tls: TlsMaterial, since: Date) {
  const operator = await connectOperator(natsUrl, tls, "export");
  try {
    const { streams } = await operator.jetstreamManager();
    const { config } = await streams.info(EVENTS_STREAM);
    const read = async ({ name }: EventStream) => {
      const info = await streams.info(name).catch((cause) => {
        throw new Error(`${name} is missing: ${WITHOUT}`, { cause });
      });
      return { name, created: Date.parse(info.created), maxAge: info.config.max_age / 1_000_000 };
    };
    const found = await Promise.all(eventStreams(partitionsIn(config)).map(read));
    const first = Math.min(...found.slice(1).map(({ created }) => created));
    for (const { name, created, maxAge } of found) {
      // The set-up creates all partitions at once; a later one has taken the place of one that was lost.
      const begins = name !== EVENTS_STREAM && created < first + 60_000 ? 0 : created;
      const keepsSince = maxAge === 0 ? 0 : Date.now() - maxAge;
      // `since` has a margin of a minute.
      if (since.getTime() + 60_000 < Math.max(begins, keepsSince))
        throw new Error(`${name} has no events of ${since.toISOString()}, or has deleted them: ${WITHOUT}`);
    }
    yield* byTime(found.map(({ name }) => readSince(operator, name, since)));
  } finally {
    await operator.close();
  }
}
