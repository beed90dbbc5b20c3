import { asOperation, type Logger, sleepUntil } from "@countersign/core";

export interface PeriodicJobOptions {
  /** Names the job in the log. */
  job: string;
  /** Milliseconds from the end of one run, or with `fromBeginning` from its beginning, to the next run. */
  intervalMs: number;
  /** Counts `intervalMs` from the beginning of a run. At least 50 ms pass after its end. */
  fromBeginning?: boolean;
  /** Milliseconds after a failed run. Default: `intervalMs`. */
  retryMs?: number;
  logger: Logger;
  /** Does the work once. Returns true if more work is due at once. */
  run(signal: AbortSignal): Promise<unknown>;
}

/**
 * Runs a job at once and then periodically, never twice at the same time. A failed run is logged and
 * repeated; of consecutive failures only the first is logged. Every replica runs its jobs: the database
 * decides who does the work.
 */
export function startPeriodicJob(options: PeriodicJobOptions) {
  const { job, intervalMs, retryMs = intervalMs, logger, run } = options;
  const stop = new AbortController();
  const { signal } = stop;
  const runOnce = asOperation(`job ${job}`, run);

  async function repeat(): Promise<void> {
    let failing = false;
    while (!signal.aborted) {
      const began = performance.now();
      try {
        const isMoreDue = (await runOnce(signal)) === true;
        if (failing) logger.info({ job }, "job works again");
        failing = false;
        const waitMs = options.fromBeginning ? Math.max(50, began + intervalMs - performance.now()) : intervalMs;
        if (!isMoreDue) await sleepUntil(waitMs, [signal]);
      } catch (err) {
        if (!failing && !signal.aborted) logger.warn({ err, job }, "job failed; will retry");
        failing = true;
        await sleepUntil(retryMs, [signal]);
      }
    }
  }
  const repeating = repeat();

  return {
    /** Aborts the signal of the present run and waits for its end. */
    async close(): Promise<void> {
      stop.abort();
      await repeating;
    },
  };
}
