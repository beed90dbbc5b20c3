import type { Clock } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import type { KeyStore } from "./ports.ts";

/**
 * Records when a key last opened a session. Idempotent, in any order: the time only moves forward, up to now.
 */
export function recordKeyUse({ store, clock }: { store: KeyStore; clock: Clock }) {
  return (use: { accountId: string; accountKey: PublicKey; usedAt: Date }): Promise<void> => {
    const usedAt = new Date(Math.min(use.usedAt.getTime(), clock.now().getTime()));
    return store.touch(use.accountId, use.accountKey, usedAt);
  };
}
