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
