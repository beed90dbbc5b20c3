import { type JetStreamManager, NatsError, RetentionPolicy, StorageType, type StreamConfig } from "nats";

export const EVENTS_STREAM = "CS_EVENTS";
export const EVENTS_SUBJECTS = "cs.v1.>";

const HOUR_NS = 3_600 * 1_000_000_000;

const config = {
  name: EVENTS_STREAM,
  subjects: [EVENTS_SUBJECTS],
  retention: RetentionPolicy.Limits,
  storage: StorageType.File,
  max_age: 7 * 24 * HOUR_NS,
  duplicate_window: 2 * HOUR_NS,
} satisfies Partial<StreamConfig>;

// JetStream API errors: stream not found; name in use with another configuration.
const NOT_FOUND = 10059;
const IN_USE = 10058;

/** Whether it is this error of JetStream's API. */
export function hasCode(error: unknown, code: number): boolean {
  return error instanceof NatsError && error.api_error?.err_code === code;
}

/** Creates the stream of all events where it is missing; one that an operator has changed stays as it is. */
export async function ensureEventsStream(manager: JetStreamManager): Promise<void> {
  try {
    await manager.streams.info(EVENTS_STREAM);
  } catch (error) {
    if (!hasCode(error, NOT_FOUND)) throw error;
    try {
      await manager.streams.add(config);
    } catch (second) {
      // Another service was faster.
      if (!hasCode(second, IN_USE)) throw second;
    }
  }
}
