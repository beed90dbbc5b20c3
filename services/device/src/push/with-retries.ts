import { backoffMs, type Clock, sleepUntil } from "@countersign/core";
import { type PushAdapter, PushDelayed } from "./push-adapter.ts";

export interface RetryOptions {
  clock: Clock;
  /** Tries of one call; the event comes again later anyway. Default 3. */
  tries?: number;
  /** Default: waits. */
  sleep?: (milliseconds: number) => Promise<unknown>;
}

/** The longest that a call waits inside; whoever asks for more is asked again when the event comes again. */
const MAX_WAIT_MS = 5_000;
/** The longest that a service is left alone by its own wish. */
const MAX_QUIET_MS = 15 * 60_000;

/** Tries again with growing pauses where the service was not there, and leaves it alone for as long as its Retry-After says. */
export function withRetries(adapter: PushAdapter, options: RetryOptions): PushAdapter {
  const { clock, tries = 3, sleep = (milliseconds) => sleepUntil(milliseconds, []) } = options;
  let quietUntil = 0;
  const quietMs = () => quietUntil - clock.now().getTime();

  const once: PushAdapter["send"] = async (message) => {
    if (quietMs() > MAX_WAIT_MS)
      throw new PushDelayed("the service wants to be left alone", { retryAfterMs: quietMs() });
    if (quietMs() > 0) await sleep(quietMs());
    try {
      return await adapter.send(message);
    } catch (error) {
      if (error instanceof PushDelayed && error.retryAfterMs !== undefined) {
        quietUntil = Math.max(quietUntil, clock.now().getTime() + Math.min(error.retryAfterMs, MAX_QUIET_MS));
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
          const again = error instanceof PushDelayed && attempt < tries && quietMs() <= MAX_WAIT_MS;
          if (!again) throw error;
          await sleep(100 * 2 ** attempt + backoffMs(attempt));
        }
      }
    },
    close: () => adapter.close(),
  };
}
