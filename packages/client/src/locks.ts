import { abortReason, onAbort, throwIfAborted } from "@countersign/flow";

/** The part of `navigator.locks` (Web Locks) that is used. */
export interface LockManager {
  /**
   * Does `work` while nobody else of the origin has the lock.
   * @example await navigator.locks.request("name", {}, async () => {});
   */
  request(name: string, options: { signal?: AbortSignal }, work: () => Promise<unknown>): Promise<unknown>;
}

/** The last holder of each lock of this page, where there are no Web Locks. */
const tails = new Map<string, Promise<void>>();

const pageLocks: LockManager = {
  async request(name, { signal }, work) {
    const previous = tails.get(name);
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const tail = (previous ?? Promise.resolve()).then(() => held);
    tails.set(name, tail);
    try {
      await unlessAborted(previous, signal);
      return await work();
    } finally {
      release();
      if (tails.get(name) === tail) tails.delete(name);
    }
  },
};

/** Waits; rejects with the signal's reason as soon as it aborts, also where the work is done by then. */
export async function unlessAborted(work: void | Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = onAbort(signal, () => reject(abortReason(signal!)));
  });
  try {
    await Promise.race([aborted, work]);
    throwIfAborted(signal);
  } finally {
    stop();
  }
}

/** Returns Web Locks, which all tabs of the origin share; else locks of this page alone. */
export const platformLocks = (): LockManager =>
  (globalThis as { navigator?: { locks?: LockManager } }).navigator?.locks ?? pageLocks;

/**
 * Resolves when the lock is held; it is released when `until` is fulfilled. An abort while waiting rejects.
 */
export function holdLock(
  locks: LockManager,
  name: string,
  until: Promise<void>,
  signal: AbortSignal | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const work = () => {
      resolve();
      return until;
    };
    locks.request(name, signal ? { signal } : {}, work).catch(reject);
  });
}
