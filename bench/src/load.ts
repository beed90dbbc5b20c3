import { setTimeout as sleep } from "node:timers/promises";

/** The result of a run. Times in milliseconds. */
export interface Measured {
  perSecond: number;
  p50: number;
  p99: number;
  requests: number;
  errors: number;
  firstError?: string;
}

/** One virtual user: does one whole operation per call. */
export type Operation = () => Promise<unknown>;

/** Returns the value that the share `q` of ascending values is below; NaN where there are none. */
export const quantile = (sorted: ArrayLike<number>, q: number): number =>
  sorted.length === 0 ? Number.NaN : sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))]!;

class Recorder {
  readonly #times: number[] = [];
  #errors = 0;
  #firstError: string | undefined;
  recording = false;

  async run(operation: Operation, since: number): Promise<void> {
    try {
      await operation();
      if (this.recording) this.#times.push(performance.now() - since);
    } catch (error) {
      this.#errors += 1;
      this.#firstError ??= error instanceof Error ? error.message : String(error);
    }
  }

  measured(seconds: number): Measured {
    const sorted = Float64Array.from(this.#times).sort();
    return {
      perSecond: sorted.length / seconds,
      p50: quantile(sorted, 0.5),
      p99: quantile(sorted, 0.99),
      requests: sorted.length,
      errors: this.#errors,
      ...(this.#firstError === undefined ? {} : { firstError: this.#firstError }),
    };
  }
}

export interface LoadOptions {
  /** Duration of the measurement. */
  seconds: number;
  /** Time before it in which caches fill and code is compiled. */
  warmUpSeconds: number;
  /** Called when the measurement begins and when it ends. */
  begins?(): void;
  ends?(): void;
}

/** Measures the largest rate: each user does one operation after the other. */
export async function closedLoop(users: readonly Operation[], options: LoadOptions): Promise<Measured> {
  const recorder = new Recorder();
  let running = true;
  const work = users.map(async (operation) => {
    while (running) await recorder.run(operation, performance.now());
  });
  await sleep(options.warmUpSeconds * 1000);
  recorder.recording = true;
  options.begins?.();
  const started = performance.now();
  await sleep(options.seconds * 1000);
  recorder.recording = false;
  options.ends?.();
  const elapsed = (performance.now() - started) / 1000;
  running = false;
  await Promise.all(work);
  return recorder.measured(elapsed);
}

/** Runs each user's operation once, for tokens of a single use; the rate is over the whole run. */
export async function eachOnce(
  users: readonly Operation[],
  concurrency: number,
  options: Pick<LoadOptions, "begins" | "ends">,
): Promise<Measured> {
  const recorder = new Recorder();
  recorder.recording = true;
  options.begins?.();
  const queue = users.values();
  const started = performance.now();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (const operation of queue) await recorder.run(operation, performance.now());
    }),
  );
  options.ends?.();
  return recorder.measured((performance.now() - started) / 1000);
}

/**
 * Measures latency at a steady rate that does not depend on how fast answers come. A request that waits for a
 * free user counts from when it was due, so that a stall shows in p99 (no coordinated omission).
 */
export async function fixedRate(
  users: readonly Operation[],
  perSecond: number,
  options: LoadOptions,
): Promise<Measured> {
  const recorder = new Recorder();
  const free = [...users];
  const due: number[] = [];
  const intervalMs = 1000 / perSecond;
  const started = performance.now();
  const recordFrom = started + options.warmUpSeconds * 1000;
  const end = recordFrom + options.seconds * 1000;
  let next = started;
  const running = new Set<Promise<void>>();
  const start = (operation: Operation, since: number) => {
    const work = recorder.run(operation, since).then(() => {
      running.delete(work);
      const waiting = due.shift();
      if (waiting === undefined) free.push(operation);
      else start(operation, waiting);
    });
    running.add(work);
  };
  while (performance.now() < end) {
    const now = performance.now();
    if (!recorder.recording && now >= recordFrom) {
      recorder.recording = true;
      options.begins?.();
    }
    for (; next <= now; next += intervalMs) {
      const operation = free.pop();
      if (operation === undefined) due.push(next);
      else start(operation, next);
    }
    // Timers have a resolution of one millisecond; requests that became due meanwhile start together.
    await sleep(Math.max(0, Math.min(1, next - performance.now())));
  }
  recorder.recording = false;
  options.ends?.();
  await Promise.all(running);
  return recorder.measured(options.seconds);
}
