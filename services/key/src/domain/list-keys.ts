import { type PublicKey, samePublicKey } from "@countersign/keys";
import type { DeviceDirectory, KeyStore } from "./ports.ts";
import type { Registration } from "./registration.ts";

export interface ListKeys<Session> {
  accountId: string;
  /** What opens the account's devices: the user's own session, passed on. */
  session: Session;
  includeRevoked: boolean;
}

export interface ListedKey<D> {
  registration: Registration;
  /** Absent where the device was removed. */
  device: D | undefined;
}

/** The account's keys on all chains, oldest first, each with its device. */
export function listKeys<Session, D>(options: { store: KeyStore; devices: DeviceDirectory<Session, D> }) {
  const { store, devices } = options;
  return async ({ accountId, session, includeRevoked }: ListKeys<Session>): Promise<ListedKey<D>[]> => {
    const [registrations, owned] = await Promise.all([
      store.list(accountId, { includeRevoked }),
      devices.list(session),
    ]);
    const deviceOf = (key: PublicKey) => owned.find(({ publicKey }) => samePublicKey(publicKey, key))?.device;
    return registrations.map((registration) => ({ registration, device: deviceOf(registration.deviceKey) }));
  };
}
