import type { Logger } from "@countersign/core";

const EVERY_MS = 1_000;

/** Looks for keys that are to be told of. Every replica does it: the account's lock lets each be told once. */
export function startStrangerAlarm({ tell, logger }: { tell: () => Promise<void>; logger: Logger }) {
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= tell()
      .catch((err: unknown) => logger.warn({ err }, "strangers' keys are told of later"))
      .finally(() => {
        running = undefined;
      });
  }, EVERY_MS);
  return {
    async close() {
      clearInterval(timer);
      await running;
    },
  };
}
