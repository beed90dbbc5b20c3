/** A stream of events at NATS. */
export interface EventStream {
  readonly name: string;
  /** Subjects from which it takes events; the stored ones are EVENTS_SUBJECTS. */
  readonly subjects: string;
  /** Below this subject NATS publishes every stored event again, with its sequence in the stream. */
  readonly feed: string;
}

export const EVENTS_STREAM = "CS_EVENTS";
export const EVENTS_SUBJECTS = "cs.v1.>";

/** All events, or with partitions those from before. */
export const UNPARTITIONED: EventStream = { name: EVENTS_STREAM, subjects: EVENTS_SUBJECTS, feed: "cs.feed.>" };

/** More would cost more requests for their consumers than they gain. */
const MAX_PARTITIONS = 64;

/** Returns a number of partitions that is given as text. Errors: TypeError. */
export function parsePartitions(text: string): number {
  if (/^[1-9]\d?$/.test(text) && Number(text) <= MAX_PARTITIONS) return Number(text);
  throw new TypeError(`${text} is no number from 1 to ${MAX_PARTITIONS}`);
}

/** Returns the subject under which NATS gives an event to its partition. */
const subjectIn = (partition: number | string, event: string) => `cs.partition.${partition}.v1.${event}`;

/** Returns the streams of events by partition; none where there is one partition. */
export const partitionStreams = (partitions: number): EventStream[] =>
  Array.from({ length: partitions === 1 ? 0 : partitions }, (_, partition) => ({
    name: `${EVENTS_STREAM}_${partition}`,
    subjects: subjectIn(partition, ">"),
    feed: `cs.partition-feed.${partition}.>`,
  }));

export const eventStreams = (partitions: number): EventStream[] => [UNPARTITIONED, ...partitionStreams(partitions)];

/** Returns NATS' mapping of events to partitions, by the account's id. */
export const partitionMapping = (partitions: number): Record<string, string> => ({
  "cs.v1.*.*.*": subjectIn(`{{partition(${partitions},2)}}`, "$1.$2.$3"),
});

/** Returns an account's partition as nats-server computes it: by FNV-1a of 32 bits. */
export function partitionOf(accountId: string, partitions: number): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(accountId)) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0) % partitions;
}

/** Services find the number of partitions under this name, in the metadata of CS_EVENTS and its consumers. */
export const PARTITIONS = "partitions";

/** Returns the number of partitions that a stream or consumer of NATS names; 1 where it names none. */
export function partitionsIn({ metadata }: { metadata?: Record<string, string> | undefined }): number {
  try {
    return parsePartitions(metadata?.[PARTITIONS] ?? "1");
  } catch {
    return 1;
  }
}
