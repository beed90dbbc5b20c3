import { AppError, type Clock, countPerMinute, countUnderWay, MINUTE_MS, minuteOf } from "@countersign/core";

/** Requests under way end much sooner than the minute. */
const RETRY_MS = 1000;

/**
 * Creates what this process knows about the limit of signatures per minute, by AuditEntry.limitId. It rejects
 * early; the commit of a record decides, over all replicas.
 */
export function createSignatureLimit(clock: Clock, signaturesPerMinute: number) {
  /** The ids that are over the limit, and until when. */
  const overLimit = new Map<string, number>();
  const countRefusals = countPerMinute();
  /** Requests that have no answer yet. */
  const underWay = countUnderWay();

  const rateLimited = (msLeft: number) =>
    new AppError("RateLimited", { retryAfterSeconds: Math.max(1, Math.ceil(msLeft / 1000)) });

  /** Rejects an id from now on until the minute is over. Returns the error. */
  function reject(id: string, minute: Date): AppError {
    const until = minute.getTime() + MINUTE_MS;
    // Sessions come and go: those whose minute is over are forgotten.
    for (const [other, end] of overLimit) if (end < until) overLimit.delete(other);
    overLimit.set(id, until);
    return rateLimited(until - clock.now().getTime());
  }

  /** Rejects an id that is known to be over its limit. Errors: RateLimited. */
  function rejectOverLimit(id: string): void {
    const until = overLimit.get(id);
    if (until === undefined) return;
    const left = until - clock.now().getTime();
    if (left > 0) throw rateLimited(left);
    overLimit.delete(id);
  }

  return {
    reject,
    /**
     * Counts a request as under way until the returned function is called; "" counts nowhere. Errors:
     * RateLimited where the id is over its limit, or would be if all its requests under way were refused.
     */
    requireWithinLimit(id: string): () => void {
      if (id === "") return () => undefined;
      rejectOverLimit(id);
      if (underWay.of(id) + countRefusals(id, clock.now(), 0) >= signaturesPerMinute) throw rateLimited(RETRY_MS);
      return underWay.begin(id);
    },
    /** Counts a refusal, whether it is recorded or not; "" counts nowhere. */
    noteRefusal(id: string): void {
      if (id === "") return;
      const now = clock.now();
      if (countRefusals(id, now) >= signaturesPerMinute) reject(id, minuteOf(now));
    },
  };
}
