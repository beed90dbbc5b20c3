import { type PublicKey, samePublicKey } from "@countersign/keys";
import type { FollowChain } from "./follow-chain.ts";
import type { DeviceDirectory, KeyStore } from "./ports.ts";
import type { Registration } from "./registration.ts";

interface ListKeys<Session> {
  accountId: string;
  /** The user's own session, which reads the account's devices. */
  session: Session;
  includeRevoked: boolean;
  requestId: string;
}

export interface ListedKey<D> {
  registration: Registration;
  /** Absent where the device was removed. */
  device: D | undefined;
}

/**
 * Returns the account's keys on all chains, oldest first, each with its device; `repair` follows the chains
 * first.
 */
export function listKeys<Session, D>(options: {
  store: KeyStore;
  devices: DeviceDirectory<Session, D>;
  repair(command: FollowChain): Promise<void>;
}) {
  const { store, devices, repair } = options;
  return async ({ accountId, session, includeRevoked, requestId }: ListKeys<Session>): Promise<ListedKey<D>[]> => {
    await repair({ accountId, requestId });
    const [registrations, owned] = await Promise.all([
      store.list(accountId, { includeRevoked }),
      devices.list(session),
    ]);
    const deviceOf = (key: PublicKey) => owned.find(({ publicKey }) => samePublicKey(publicKey, key))?.device;
    return registrations.map((registration) => ({ registration, device: deviceOf(registration.deviceKey) }));
  };
}
