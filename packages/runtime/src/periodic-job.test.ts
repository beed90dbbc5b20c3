import { afterEach, expect, test, vi } from "vitest";
import { startPeriodicJob } from "./periodic-job.ts";
import { memoryLogger } from "./testing/memory-logger.ts";

let job: ReturnType<typeof startPeriodicJob> | undefined;
afterEach(async () => {
  vi.useRealTimers();
  await job?.close();
});

/** Starts a job whose runs give `results` in turn; an Error is thrown. Resolves when all of them ran. */
async function play(results: readonly unknown[], intervalMs = 1) {
  const log = memoryLogger();
  const ran = Promise.withResolvers<void>();
  let runs = 0;
  let parallel = 0;
  let most = 0;
  job = startPeriodicJob({
    job: "sweep",
    intervalMs,
    logger: log.logger,
    async run() {
      parallel += 1;
      most = Math.max(most, parallel);
      await new Promise((resolve) => setImmediate(resolve));
      parallel -= 1;
      const result = results[runs];
      runs += 1;
      if (runs === results.length) ran.resolve();
      if (result instanceof Error) throw result;
      return result;
    },
  });
  await ran.promise;
  await job.close();
  return { lines: log.lines(), runs, most };
}

test("runs again and again, one run at a time", async () => {
  expect(await play([undefined, undefined, undefined])).toMatchObject({ most: 1, lines: [] });
});

test("does not wait while more work is due", async () => {
  expect(await play([true, true, undefined], 3_600_000)).toMatchObject({ runs: 3 });
});

test("counts the interval from the beginning of a run where that is set", async () => {
  vi.useFakeTimers();
  const begin = performance.now();
  const starts: number[] = [];
  const durations = [300, 2_000];
  job = startPeriodicJob({
    job: "look",
    intervalMs: 1_000,
    fromBeginning: true,
    logger: memoryLogger().logger,
    run() {
      starts.push(performance.now() - begin);
      return new Promise((resolve) => setTimeout(resolve, durations.shift() ?? 0));
    },
  });
  await vi.advanceTimersByTimeAsync(3_500);
  expect(starts).toEqual([0, 1_000, 3_050]);
});

test("logs the first of consecutive failures and the recovery", async () => {
  const { lines } = await play([new Error("lost"), new Error("lost"), undefined, undefined]);
  expect(lines).toMatchObject([
    { level: "warn", job: "sweep", msg: "job failed; will retry" },
    { level: "info", job: "sweep", msg: "job works again" },
  ]);
});

test("close aborts the run and waits for it", async () => {
  let ended = false;
  const begun = Promise.withResolvers<void>();
  job = startPeriodicJob({
    job: "slow",
    intervalMs: 1,
    logger: memoryLogger().logger,
    async run(signal) {
      begun.resolve();
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      ended = true;
    },
  });
  await begun.promise;
  await job.close();
  expect(ended).toBe(true);
});
