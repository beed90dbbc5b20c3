import type { PublicKey } from "@countersign/keys";
import type { Registration } from "./registration.ts";

/** Makes ids (UUIDv7). */
export type NewId = () => string;

/**
 * A change of a key; committed together with the change. key-registered: it signs in from now on.
 * key-revoked: it was revoked on chain. key-discovered: it is on chain and was not registered.
 */
export interface KeyEvent {
  type: "key-registered" | "key-revoked" | "key-discovered";
  registration: Registration;
  /** For key-revoked: whether its device has no other active key of the account. */
  lastOfDevice?: boolean;
  occurredAt: Date;
  requestId: string;
}

/** The account has no server key any more, on no chain. */
export interface AccountLeft {
  type: "account-left";
  accountId: string;
  occurredAt: Date;
}

/** One account's keys inside one exclusive transaction. */
export interface AccountKeys {
  /** All registrations of the account, revoked ones too, oldest first. */
  all(): Promise<Registration[]>;
  insert(registration: Registration): Promise<void>;
  /** Writes all columns of the registration with this id. */
  update(registration: Registration): Promise<void>;
  remove(id: string): Promise<void>;
  /** Records that the account has left; false where that was recorded before. */
  leave(now: Date): Promise<boolean>;
  publish(event: KeyEvent | AccountLeft): Promise<void>;
}

export interface KeyStore {
  /**
   * Registers a user key with its event, in one commit, if it is the account's first; otherwise changes
   * nothing and returns false.
   */
  insertFirst(registered: KeyEvent): Promise<boolean>;
  /** Runs `work` in one transaction, alone among all replicas for this account; an error rolls it back. */
  withAccount<T>(accountId: string, work: (keys: AccountKeys) => Promise<T>): Promise<T>;
  /** Active registrations on a chain whose account key or device key is this one, oldest first. */
  findByKey(accountId: string, chainName: string, publicKey: PublicKey): Promise<Registration[]>;
  /** The account's registrations on all chains, oldest first. */
  list(accountId: string, options: { includeRevoked: boolean }): Promise<Registration[]>;
  /** Moves lastUsedAt of the active registrations of this account key forward, never backwards. */
  touch(accountId: string, accountKey: PublicKey, usedAt: Date): Promise<void>;
  /** Returns accounts with an unregistered key whose `alertAt` has come. */
  alertsDue(now: Date, limit: number): Promise<string[]>;
}

/**
 * The devices of the account that `Session` signed in to; D is the device service's form, passed on unread.
 */
export interface DeviceDirectory<Session, D> {
  list(session: Session): Promise<{ publicKey: PublicKey; device: D }[]>;
}

/** A key of an account as its chain has it. */
export interface ChainKey {
  index: number;
  publicKey: PublicKey;
  weight: number;
  /** other: of no role that the service gives. */
  role: "server" | "user" | "recovery" | "other";
  revoked: boolean;
}

/** An account's keys on one chain, at least as new as the block at `height`. */
export interface ChainKeys {
  chainName: string;
  height: bigint;
  keys: ChainKey[];
}

/** The account service, which alone reads chains. */
export interface ChainDirectory<Session> {
  /** Of one chain, if it is named. Errors: AccountNotFound, ChainUnavailable, Unavailable. */
  list(accountId: string, chainName?: string): Promise<ChainKeys[]>;
  /** Whether the transaction revoked the key. Errors: TransactionPending, TransactionMismatch. */
  verifyRevocation(
    revocation: { accountId: string; chainName: string; publicKey: PublicKey; transactionId: string },
    session: Session,
  ): Promise<void>;
}
