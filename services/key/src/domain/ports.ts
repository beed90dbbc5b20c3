import type { PublicKey } from "@countersign/keys";
import type { Registration } from "./registration.ts";

/** Makes ids (UUIDv7). */
export type NewId = () => string;

/** A key signs in from now on; commits with the registration. */
export interface KeyEvent {
  type: "key-registered";
  registration: Registration;
  occurredAt: Date;
  requestId: string;
}

/** One account's keys inside one transaction that nobody else shares. */
export interface AccountKeys {
  /** The active registration of this account key (canonical hex). */
  findActive(chainName: string, accountKey: string): Promise<Registration | undefined>;
  /** The registration at an index of the chain's account, active or revoked. */
  findAtIndex(chainName: string, keyIndex: number): Promise<Registration | undefined>;
  /** Active user keys on all chains. */
  countActive(): Promise<number>;
  insert(registration: Registration): Promise<void>;
  publish(event: KeyEvent): Promise<void>;
}

export interface KeyStore {
  /** Runs `work` in one transaction, alone among all replicas for this account; an error undoes everything. */
  withAccount<T>(accountId: string, work: (keys: AccountKeys) => Promise<T>): Promise<T>;
  /** Active registrations on a chain whose account key or device key is this one, oldest first. */
  findByKey(accountId: string, chainName: string, publicKey: PublicKey): Promise<Registration[]>;
  /** The account's registrations on all chains, oldest first. */
  list(accountId: string, options: { includeRevoked: boolean }): Promise<Registration[]>;
  /** Moves lastUsedAt of the active registrations of this account key forward, never backwards. */
  touch(accountId: string, accountKey: PublicKey, usedAt: Date): Promise<void>;
}

/** The devices of the account that `Session` signed in to; D is the device's own form, which nobody here looks into. */
export interface DeviceDirectory<Session, D> {
  list(session: Session): Promise<{ publicKey: PublicKey; device: D }[]>;
}
