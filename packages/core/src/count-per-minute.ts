import { AppError } from "./app-error.ts";
import { type Clock, MINUTE_MS } from "./clock.ts";

export const minuteOf = (time: Date): Date => new Date(Math.floor(time.getTime() / MINUTE_MS) * MINUTE_MS);

/**
 * Creates a counter in this process: it adds one, or `add`, to an id and returns the id's count in the minute
 * of `now`. It keeps one number for each id of that minute.
 */
export function countPerMinute(): (id: string, now: Date, add?: number) => number {
  const counts = new Map<string, number>();
  let minute = 0;
  return (id, now, add = 1) => {
    const current = minuteOf(now).getTime();
    if (current !== minute) counts.clear();
    minute = current;
    const count = (counts.get(id) ?? 0) + add;
    counts.set(id, count);
    return count;
  };
}

/** Creates a limit of the calls of an id in each minute of this process. Its errors: RateLimited. */
export function limitPerMinute(clock: Clock): (id: string, limit: number) => void {
  const count = countPerMinute();
  return (id, limit) => {
    const now = clock.now();
    if (count(id, now) <= limit) return;
    const leftMs = MINUTE_MS - (now.getTime() % MINUTE_MS);
    throw new AppError("RateLimited", { retryAfterSeconds: Math.ceil(leftMs / 1000) });
  };
}
