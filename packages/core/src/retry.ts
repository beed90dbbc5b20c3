export const RETRY_ATTEMPTS = 3;
const BASE_MS = 50;
const MAX_MS = 1_000;

/**
 * Returns the milliseconds before the next attempt: exponential with full jitter, so that callers do not
 * retry together.
 */
export function backoffMs(attempt: number): number {
  return Math.round(Math.random() * Math.min(MAX_MS, BASE_MS * 2 ** attempt)) + 5;
}

export interface RetryRules {
  /** Milliseconds to wait after an attempt (the first is 1) failed; undefined: the error is final. */
  delayMs(error: unknown, attempt: number): number | undefined;
  /** Returns false when the caller no longer waits: the last error is final. */
  sleep(milliseconds: number): Promise<boolean>;
}

/** Runs `work` until it succeeds or its error is final. Errors: the last one of `work`. */
export async function retry<T>(work: () => Promise<T>, { delayMs, sleep }: RetryRules): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const ms = delayMs(error, attempt);
      if (ms === undefined || !(await sleep(ms))) throw error;
    }
  }
}

/** Waits; returns false as soon as one of the signals aborts. */
export function sleepUntil(milliseconds: number, signals: readonly AbortSignal[]): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (slept: boolean) => {
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener("abort", interrupted);
      resolve(slept);
    };
    const interrupted = () => end(false);
    const timer = setTimeout(() => end(true), milliseconds);
    for (const signal of signals) {
      signal.addEventListener("abort", interrupted, { once: true });
      if (signal.aborted) return end(false);
    }
  });
}
