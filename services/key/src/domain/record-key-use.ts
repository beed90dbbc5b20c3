import type { Clock } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import type { KeyStore } from "./ports.ts";

export interface RecordKeyUse {
  accountId: string;
  accountKey: PublicKey;
  usedAt: Date;
}

/**
 * Records when a key last opened a session. Idempotent, in any order: the time only moves forward, up to now.
 */
export function recordKeyUse({ store, clock }: { store: KeyStore; clock: Clock }) {
  return (command: RecordKeyUse): Promise<void> => {
    const usedAt = new Date(Math.min(command.usedAt.getTime(), clock.now().getTime()));
    return store.touch(command.accountId, command.accountKey, usedAt);
  };
}
