import type { Clock } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import type { KeyStore } from "./ports.ts";

export interface NoteKeyUsed {
  accountId: string;
  accountKey: PublicKey;
  usedAt: Date;
}

/** Remembers when a key last opened a session. May be told twice and late: the time only moves forward, and never beyond now. */
export function noteKeyUsed({ store, clock }: { store: KeyStore; clock: Clock }) {
  return (command: NoteKeyUsed): Promise<void> => {
    const usedAt = new Date(Math.min(command.usedAt.getTime(), clock.now().getTime()));
    return store.touch(command.accountId, command.accountKey, usedAt);
  };
}
