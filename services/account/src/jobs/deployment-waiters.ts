import { sleepUntil } from "@countersign/core";

const POLL_MS = 1_000;

/** Wakes this process's requests that wait for deployments, by the database's notifications. */
export function createDeploymentWaiters() {
  const waiting = new Map<string, Set<AbortController>>();

  return {
    /** The deployment of an account has moved; an empty id wakes all, after a time without notifications. */
    notify(accountId: string): void {
      const woken = accountId === "" ? [...waiting.values()] : [waiting.get(accountId) ?? []];
      for (const each of woken) for (const waiter of each) waiter.abort();
    },
    /** Resolves at the next notification, after `ms`, or after a second: a notification may be lost. */
    async wait(accountId: string, ms: number, signal: AbortSignal): Promise<void> {
      const woken = new AbortController();
      const own = waiting.get(accountId) ?? new Set();
      waiting.set(accountId, own.add(woken));
      await sleepUntil(Math.min(ms, POLL_MS), [signal, woken.signal]);
      own.delete(woken);
      if (own.size === 0) waiting.delete(accountId);
    },
  };
}
