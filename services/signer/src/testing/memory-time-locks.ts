import type { PublicKey } from "@countersign/keys";
import type { AccountOnChain, TimeLockStore } from "../domain/ports.ts";
import type { RecoveryKeySlot } from "../policy/effects.ts";
import { isInEffect, succeeding, type TimeLock } from "../policy/time-lock.ts";

/** Time locks in memory, with their events. */
export function memoryTimeLocks(): TimeLockStore & { events: string[]; clear(): void } {
  const locks = new Map<string, TimeLock>();
  const events: string[] = [];
  return {
    events,
    clear() {
      locks.clear();
      events.length = 0;
    },
    async startOrFind(requested) {
      const known = locks.get(requested.operation);
      if (known?.requestHash === requested.requestHash && isInEffect(known, requested.startedAt)) return known;
      const started = succeeding(known, requested);
      locks.set(requested.operation, started);
      events.push(`started ${requested.operation}`);
      return started;
    },
    list: async (accountId, now) =>
      [...locks.values()].filter((lock) => lock.accountId === accountId && isInEffect(lock, now)),
    async cancel(accountId, id, now) {
      const known = [...locks.values()].find((lock) => lock.accountId === accountId && lock.id === id);
      if (!known || known.cancelledAt) return known;
      const cancelled = { ...known, cancelledAt: now };
      locks.set(known.operation, cancelled);
      events.push(`cancelled ${known.operation}`);
      return cancelled;
    },
  };
}

export function memoryRecoveryKeys() {
  const rows = new Map<string, { key: PublicKey; signedAt: Date }>();
  return {
    clear: () => rows.clear(),
    async record(_: AccountOnChain, key: PublicKey, signedAt = new Date(0)) {
      if (!rows.has(key.publicKey)) rows.set(key.publicKey, { key, signedAt });
    },
    of: async (_: AccountOnChain): Promise<PublicKey[]> => [...rows.values()].map(({ key }) => key),
    countOthers: (slot: RecoveryKeySlot) =>
      [...rows.values()].filter(
        ({ key, signedAt }) => key.publicKey !== slot.key.publicKey && signedAt > slot.countedSince,
      ).length,
  };
}
