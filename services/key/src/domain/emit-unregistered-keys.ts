import type { Clock } from "@countersign/core";
import type { KeyStore } from "./ports.ts";

const BATCH_SIZE = 100;

/** Emits key-discovered, once, for keys that are on chain and that were not registered in time. */
export function emitUnregisteredKeys({ store, clock }: { store: KeyStore; clock: Clock }) {
  return async (): Promise<void> => {
    const now = clock.now();
    for (const accountId of await store.alertsDue(now, BATCH_SIZE)) {
      await store.withAccount(accountId, async (keys) => {
        const due = (await keys.all()).filter(({ alertAt }) => alertAt !== null && alertAt <= now);
        for (const unregistered of due) {
          const registration = { ...unregistered, alertAt: null };
          await keys.update(registration);
          await keys.publish({ type: "key-discovered", registration, occurredAt: now, requestId: "" });
        }
      });
    }
  };
}
