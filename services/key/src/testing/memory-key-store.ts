import { samePublicKey } from "@countersign/keys";
import type { KeyEvent, KeyStore } from "../domain/ports.ts";
import type { Registration } from "../domain/registration.ts";

export interface MemoryKeyStore extends KeyStore {
  registrations: Registration[];
  events: KeyEvent[];
}

/** Registrations in memory, for tests of commands; one command at a time. */
export function memoryKeyStore(): MemoryKeyStore {
  const registrations: Registration[] = [];
  const events: KeyEvent[] = [];
  const ofAccount = (accountId: string) => registrations.filter((registration) => registration.accountId === accountId);
  const active = (accountId: string) => ofAccount(accountId).filter(({ revokedAt }) => revokedAt === null);
  return {
    registrations,
    events,
    withAccount: (accountId, work) =>
      work({
        findActive: async (chainName, key) =>
          active(accountId).find((found) => found.chainName === chainName && found.accountKey.publicKey === key),
        findAtIndex: async (chainName, keyIndex) =>
          ofAccount(accountId).find((found) => found.chainName === chainName && found.keyIndex === keyIndex),
        countActive: async () => active(accountId).length,
        insert: async (registration) => void registrations.push(registration),
        publish: async (event) => void events.push(event),
      }),
    findByKey: async (accountId, chainName, key) =>
      active(accountId).filter(
        (found) =>
          found.chainName === chainName &&
          (samePublicKey(found.accountKey, key) || samePublicKey(found.deviceKey, key)),
      ),
    list: async (accountId, { includeRevoked }) => (includeRevoked ? ofAccount(accountId) : active(accountId)),
    touch: async (accountId, key, usedAt) => {
      for (const found of active(accountId)) {
        if (samePublicKey(found.accountKey, key) && (found.lastUsedAt ?? 0) < usedAt) found.lastUsedAt = usedAt;
      }
    },
  };
}
