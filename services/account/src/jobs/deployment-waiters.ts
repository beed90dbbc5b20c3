/** Wakes this process's requests that wait for deployments, by the database's notifications. */
export function createDeploymentWaiters() {
  const waiting = new Map<string, Set<() => void>>();
  const POLL_MS = 1_000;

  return {
    /** The deployment of an account has moved; an empty id wakes all, after a time without notifications. */
    notify(accountId: string): void {
      const woken = accountId === "" ? [...waiting.values()] : [waiting.get(accountId) ?? []];
      for (const each of woken) for (const wake of each) wake();
    },
    /** Resolves at the next notification, after `ms`, or after a second: a notification may be lost. */
    wait(accountId: string, ms: number, signal: AbortSignal): Promise<void> {
      return new Promise((resolve) => {
        const own = waiting.get(accountId) ?? new Set();
        waiting.set(accountId, own);
        const done = () => {
          clearTimeout(timer);
          signal.removeEventListener("abort", done);
          own.delete(done);
          if (own.size === 0) waiting.delete(accountId);
          resolve();
        };
        const timer = setTimeout(done, Math.min(ms, POLL_MS));
        own.add(done);
        signal.addEventListener("abort", done, { once: true });
      });
    },
  };
}
