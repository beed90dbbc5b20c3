import { sleepUnlessAborted } from "@countersign/flow";

/** Resolves after a time, or as soon as the signal aborts. */
export const sleep = (milliseconds: number, signal: AbortSignal | undefined): Promise<void> =>
  sleepUnlessAborted(milliseconds, signal).catch(() => undefined);
