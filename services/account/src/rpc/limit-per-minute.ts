import { AppError, type Clock } from "@countersign/core";

const MINUTE_MS = 60_000;

/**
 * Counts an account's calls in each minute of this process. It keeps one number per account that called
 * within the minute. Errors: RateLimited.
 */
export function limitPerMinute(limit: number, clock: Clock): (accountId: string) => void {
  const counts = new Map<string, number>();
  let minute = 0;
  return (accountId) => {
    const now = clock.now().getTime();
    const current = Math.floor(now / MINUTE_MS);
    if (current !== minute) {
      counts.clear();
      minute = current;
    }
    const count = counts.get(accountId) ?? 0;
    if (count >= limit) {
      const retryAfterSeconds = Math.ceil(((current + 1) * MINUTE_MS - now) / 1000);
      throw new AppError("RateLimited", { retryAfterSeconds });
    }
    counts.set(accountId, count + 1);
  };
}
