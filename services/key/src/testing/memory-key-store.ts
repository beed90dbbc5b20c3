import { samePublicKey } from "@countersign/keys";
import type { AccountLeft, KeyEvent, KeyStore } from "../domain/ports.ts";
import type { Registration } from "../domain/registration.ts";

export interface MemoryKeyStore extends KeyStore {
  registrations: Registration[];
  events: (KeyEvent | AccountLeft)[];
}

/** Registrations in memory, for tests of commands; one command at a time. */
export function memoryKeyStore(): MemoryKeyStore {
  const registrations: Registration[] = [];
  const events: (KeyEvent | AccountLeft)[] = [];
  const left = new Set<string>();
  const ofAccount = (accountId: string) => registrations.filter((registration) => registration.accountId === accountId);
  const active = (accountId: string) => ofAccount(accountId).filter(({ revokedAt }) => revokedAt === null);
  return {
    registrations,
    events,
    async insertFirst(event) {
      if (ofAccount(event.registration.accountId).length > 0) return false;
      registrations.push(event.registration);
      events.push(event);
      return true;
    },
    withAccount: (accountId, work) =>
      work({
        all: async () => ofAccount(accountId).map((each) => ({ ...each })),
        insert: async (registration) => void registrations.push(registration),
        update: async (registration) => {
          registrations[registrations.findIndex(({ id }) => id === registration.id)] = registration;
        },
        remove: async (gone) => {
          registrations.splice(
            registrations.findIndex(({ id }) => id === gone),
            1,
          );
        },
        leave: async () => !left.has(accountId) && left.add(accountId).has(accountId),
        publish: async (event) => void events.push(event),
      }),
    findByKey: async (accountId, chainName, key) =>
      active(accountId).filter(
        (found) =>
          found.chainName === chainName &&
          (samePublicKey(found.accountKey, key) || samePublicKey(found.deviceKey, key)),
      ),
    list: async (accountId, { includeRevoked }) => (includeRevoked ? ofAccount(accountId) : active(accountId)),
    alertsDue: async (now) => [
      ...new Set(registrations.filter(({ alertAt }) => alertAt && alertAt <= now).map((each) => each.accountId)),
    ],
    touch: async (accountId, key, usedAt) => {
      for (const found of active(accountId)) {
        if (samePublicKey(found.accountKey, key) && (found.lastUsedAt ?? 0) < usedAt) found.lastUsedAt = usedAt;
      }
    },
  };
}
