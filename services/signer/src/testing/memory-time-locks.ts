import type { PublicKey } from "@countersign/keys";
import { isStanding, type RecoveryKeys, succeeding, type TimeLock, type TimeLockStore } from "../domain/time-locks.ts";

/** Time locks in memory, with what was told of them. */
export function memoryTimeLocks(): TimeLockStore & { told: string[]; clear(): void } {
  const locks = new Map<string, TimeLock>();
  const told: string[] = [];
  return {
    told,
    clear() {
      locks.clear();
      told.length = 0;
    },
    async ask(wish) {
      const known = locks.get(wish.operation);
      if (known?.requestHash === wish.requestHash && isStanding(known, wish.startedAt)) return known;
      const started = succeeding(known, wish);
      locks.set(wish.operation, started);
      told.push(`started ${wish.operation}`);
      return started;
    },
    list: async (accountId, now) =>
      [...locks.values()].filter((lock) => lock.accountId === accountId && isStanding(lock, now)),
    async cancel(accountId, id, now) {
      const known = [...locks.values()].find((lock) => lock.accountId === accountId && lock.id === id);
      if (!known || known.cancelledAt) return known;
      const cancelled = { ...known, cancelledAt: now };
      locks.set(known.operation, cancelled);
      told.push(`cancelled ${known.operation}`);
      return cancelled;
    },
  };
}

export function memoryRecoveryKeys(): RecoveryKeys & { clear(): void } {
  const keys: PublicKey[] = [];
  return {
    clear: () => void keys.splice(0),
    remember: async (_, key) => void keys.push(key),
    of: async () => keys,
  };
}
