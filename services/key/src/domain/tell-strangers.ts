import type { Clock } from "@countersign/core";
import { faultPoint } from "../fault-points.ts";
import type { KeyStore } from "./ports.ts";

const BATCH = 100;

/** Tells, once, of keys that are on chain and that nobody has registered in time. */
export function tellStrangers({ store, clock }: { store: KeyStore; clock: Clock }) {
  return async (): Promise<void> => {
    const now = clock.now();
    for (const accountId of await store.alertsDue(now, BATCH)) {
      await store.withAccount(accountId, async (keys) => {
        const due = (await keys.all()).filter(({ alertAt }) => alertAt !== null && alertAt <= now);
        for (const stranger of due) {
          const registration = { ...stranger, alertAt: null };
          await keys.update(registration);
          await keys.publish({ type: "key-discovered", registration, occurredAt: now, requestId: "" });
        }
        await faultPoint("strangers before commit");
      });
      await faultPoint("strangers told");
    }
  };
}
