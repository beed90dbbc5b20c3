import { backoffMs, type Clock, sleepUntil } from "@countersign/core";
import { type PushAdapter, PushDelayed } from "./push-adapter.ts";

interface RetryOptions {
  clock: Clock;
  /** Default: waits. */
  sleep?: (milliseconds: number) => Promise<unknown>;
}

/** Tries of one call, after which the event is delivered again later. */
const TRIES = 3;
/** The longest wait inside a call; for a longer Retry-After the event is delivered again later. */
const MAX_WAIT_MS = 5_000;
/** The longest Retry-After that is respected. */
const MAX_RETRY_AFTER_MS = 15 * 60_000;

/** Retries with growing pauses where the service does not answer, and respects its Retry-After. */
export function withRetries(adapter: PushAdapter, options: RetryOptions): PushAdapter {
  const { clock, sleep = (milliseconds) => sleepUntil(milliseconds, []) } = options;
  let quietUntil = 0;
  const quietMs = () => quietUntil - clock.now().getTime();

  const once: PushAdapter["send"] = async (message) => {
    if (quietMs() > MAX_WAIT_MS)
      throw new PushDelayed("the push service's Retry-After has not passed", { retryAfterMs: quietMs() });
    if (quietMs() > 0) await sleep(quietMs());
    try {
      return await adapter.send(message);
    } catch (error) {
      if (error instanceof PushDelayed && error.retryAfterMs !== undefined) {
        quietUntil = Math.max(quietUntil, clock.now().getTime() + Math.min(error.retryAfterMs, MAX_RETRY_AFTER_MS));
      }
      throw error;
    }
  };

  return {
    async send(message) {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await once(message);
        } catch (error) {
          const isTemporary = error instanceof PushDelayed && attempt < TRIES && quietMs() <= MAX_WAIT_MS;
          if (!isTemporary) throw error;
        }
        await sleep(100 * 2 ** attempt + backoffMs(attempt));
      }
    },
    close: () => adapter.close(),
  };
}
