import type { Clock, KeyStore } from "./ports.ts";
import type { PublicKey } from "./registration.ts";

export interface NoteKeyUsed {
  accountId: string;
  accountKey: PublicKey;
  usedAt: Date;
}

/** Remembers when a key last opened a session. May be told twice and late: the time only moves forward, and never beyond now. */
export function noteKeyUsed({ store, clock }: { store: KeyStore; clock: Clock }) {
  return (command: NoteKeyUsed): Promise<void> => {
    const now = clock.now();
    const usedAt = command.usedAt > now ? now : command.usedAt;
    return store.touch(command.accountId, command.accountKey, usedAt);
  };
}
