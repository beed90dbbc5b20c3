import type { Clock } from "@countersign/core";
import type { KeyStore } from "./ports.ts";

/** Accounts at once, and alerts of each: one with thousands of keys does not hold up the others. */
const BATCH_SIZE = 100;

/**
 * Emits key-discovered, once, for keys that are on chain and that were not registered in time. Errors: that
 * of the first account whose alerts failed; they are tried again, and those of the others are emitted.
 */
export function emitUnregisteredKeys({ store, clock }: { store: KeyStore; clock: Clock }) {
  const emit = (accountId: string, now: Date) =>
    store.withAccount(accountId, async (keys) => {
      const due = (await keys.all()).filter(({ alertAt }) => alertAt !== null && alertAt <= now);
      for (const unregistered of due.slice(0, BATCH_SIZE)) {
        const registration = { ...unregistered, alertAt: null };
        await keys.update(registration);
        await keys.publish({ type: "key-discovered", registration, occurredAt: now, requestId: "" });
      }
    });
  return async (): Promise<void> => {
    const now = clock.now();
    const failed: unknown[] = [];
    for (const accountId of await store.alertsDue(now, BATCH_SIZE))
      await emit(accountId, now).catch((error) => failed.push(error));
    if (failed.length > 0) throw failed[0];
  };
}
