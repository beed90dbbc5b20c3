import { AppError, type Clock, invalidField } from "@countersign/core";
import { samePublicKey } from "@countersign/keys";
import type { KeyStore, NewId } from "./ports.ts";
import { OF_USER_KEY, type Registration } from "./registration.ts";

export type RegisterKey = Omit<
  Registration,
  "id" | "createdAt" | "lastUsedAt" | "revokedAt" | keyof typeof OF_USER_KEY
> & {
  requestId: string;
};

/** Keys that may be registered beyond the limit: of devices that a recovery key brings back. */
export const RECOVERED_KEYS = 10;

export interface RegisterKeyOptions {
  store: KeyStore;
  clock: Clock;
  newId: NewId;
  /** The most active user keys of one account on one chain. */
  maxUserKeys: number;
}

/**
 * Registers a user key for an account. For a key that was registered before, returns that registration, also
 * where it was revoked since: a late retry restores nothing. Errors: InvalidRequest (index of another key),
 * TooManyKeys.
 *
 * Writes: the registration and its event in one commit; for the account's first key, in one statement.
 * Crash: nothing or all of it is written; the caller repeats the call.
 * Race: one call of an account at a time, over all replicas.
 */
export function registerKey({ store, clock, newId, maxUserKeys }: RegisterKeyOptions) {
  return async ({ requestId, ...command }: RegisterKey): Promise<Registration> => {
    const now = clock.now();
    const registration: Registration = {
      ...OF_USER_KEY,
      ...command,
      id: newId(),
      createdAt: now,
      lastUsedAt: null,
      revokedAt: null,
    };
    const registered = { type: "key-registered", registration, occurredAt: now, requestId } as const;
    if (command.origin === "sign-up" && (await store.insertFirst(registered))) return registration;
    return store.withAccount(command.accountId, async (keys) => {
      const ofChain = (await keys.all()).filter(({ chainName }) => chainName === command.chainName);
      const live = ofChain.filter(({ revokedAt }) => revokedAt === null);
      let active = live.find(({ accountKey }) => accountKey.publicKey === command.accountKey.publicKey);
      if (active && active.pendingUntil !== null) {
        // It was reported as a recovery key and is enrolled as a user key: the report does not count.
        await keys.remove(active.id);
        active = undefined;
      }
      if (active && samePublicKey(active.accountKey, command.accountKey)) {
        if (active.origin !== "chain" || active.keyIndex !== command.keyIndex) return active;
        // The chain was read before the enrollment registered the key.
        const enrolled = { ...active, ...command, alertAt: null };
        await keys.update(enrolled);
        await keys.publish({ ...registered, registration: enrolled });
        return enrolled;
      }

      const atIndex = ofChain.find(({ keyIndex }) => keyIndex === command.keyIndex);
      if (atIndex && samePublicKey(atIndex.accountKey, command.accountKey)) return atIndex;
      if (active || atIndex)
        throw invalidField(atIndex ? "/keyIndex" : "/accountKey/algorithm", "belongs to another key");
      // Of this chain, as the account service counts before it puts a key on chain.
      const userKeys = live.filter(({ kind, origin }) => kind === "user" && origin !== "chain");
      if (userKeys.length >= maxUserKeys) throw new AppError("TooManyKeys");
      await keys.insert(registration);
      await keys.publish(registered);
      return registration;
    });
  };
}
