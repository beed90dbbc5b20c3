import type { PublicKey } from "@countersign/keys";
import type { Binding, ServerKeyPlace } from "../policy/account.ts";
import type { AddedBy, Effect } from "../policy/effects.ts";
import type { TimeLock } from "../policy/time-lock.ts";
import type { AddedKey } from "../policy/user-keys.ts";

export type AccountOnChain = Pick<Binding, "accountId" | "chainName">;

/** Addresses of accounts; see proto signer.v1.Creation/BindAddress. */
export interface BindingStore {
  /** All bindings of an account, oldest first; of an account that is not rotating as of half a second ago. */
  find(accountId: string): Promise<Binding[]>;
  /** The same as of now. */
  findCurrent(accountId: string): Promise<Binding[]>;
  /**
   * Writes the binding and its event, unless account or address is bound on that chain. Returns the account's
   * binding as it is then.
   */
  insert(binding: Binding, context: { now: Date; requestId: string }): Promise<Binding | undefined>;
  /**
   * Appends the version of a sealed rotation, after the version before and only where the rotation was
   * signed; of two for one version the first stays. Returns the binding as it is then.
   */
  appendVersion(account: AccountOnChain, place: ServerKeyPlace, now: Date): Promise<Binding | undefined>;
  /**
   * Corrects the index of a version that a rotation brought, within those of its neighbours; otherwise
   * nothing changes. Returns the binding as it is then.
   */
  moveVersion(account: AccountOnChain, place: ServerKeyPlace): Promise<Binding | undefined>;
  /**
   * Removes the newest version, which is not on chain; any other stays. Returns the binding as it is then.
   */
  takeBackVersion(account: AccountOnChain, version: number): Promise<Binding | undefined>;
  /** Returns those of these accounts that are bound on the chain. */
  bound(chainName: string, accountIds: readonly string[]): Promise<string[]>;
}

/** Creations of accounts that were signed. */
export interface SignedCreations {
  /**
   * Records, before the signature leaves and in one transaction, the version of the server keys with which
   * these accounts are created, and their first user keys. Recorded again, nothing changes.
   */
  record(
    creation: {
      readonly chainName: string;
      readonly serverKeyVersion: number;
      readonly accounts: readonly { readonly accountId: string; readonly userKey: PublicKey }[];
    },
    now: Date,
  ): Promise<void>;
  has(account: AccountOnChain, version: number): Promise<boolean>;
}

/**
 * User keys whose addition to an account the signer has permitted, the oldest first: recorded before the
 * signature, which may have failed. A key and its negation are one.
 */
export interface AddedKeys {
  of(account: AccountOnChain): Promise<AddedKey[]>;
  /** Reads one row, however many the account has. `publicKey`: 128 hex digits. */
  find(account: AccountOnChain, publicKey: string): Promise<AddedKey | undefined>;
}

/**
 * Recovery keys whose addition to an account the signer has permitted: recorded before the signature, which
 * may have failed. Never forgotten.
 */
export interface RecoveryKeys {
  of(account: AccountOnChain): Promise<PublicKey[]>;
}

/**
 * Keys whose revocation the signer has permitted: recorded before the signature, which may have failed.
 * Forgotten only where a recovery key adds the key. `publicKey`: 128 hex digits; a key and its negation are
 * one.
 */
export interface RevokedKeys {
  has(account: AccountOnChain, publicKey: string): Promise<boolean>;
  /**
   * Returns whether a revocation forbids that a key of this kind approves the addition. A recovery key, after
   * its time lock, adds a revoked key once, unless the account's creation or a recovery key has added it
   * before: the signer does not see whether the key was on chain, and with a device that a thief has, each
   * key that the owner is about to add could be named as revoked. Its own addition is renewed like each
   * other, revoked or not: the answer may be lost.
   */
  forbidAddition(account: AccountOnChain, publicKey: string, by: AddedBy): Promise<boolean>;
}

/**
 * Sequence numbers of server keys for which the signer has permitted a template: recorded before the
 * signature, which may have failed.
 */
export interface SignedTemplates {
  /**
   * Returns when a number above this one was last signed for before the account's freeze was lifted, if after
   * `since`.
   */
  laterKeptAt(
    account: Pick<Binding, "accountId" | "chainName" | "serverKeyIndex">,
    number: bigint,
    freeze: { readonly since: Date; readonly unfrozenAt: Date },
  ): Promise<Date | undefined>;
  has(account: Pick<Binding, "accountId" | "chainName" | "serverKeyIndex">, number: bigint): Promise<boolean>;
}

export interface TimeLockStore {
  /**
   * Returns the lock that is in effect for the same request; otherwise starts the requested one, which
   * replaces any other of the operation, with its event in one commit. Of racing first requests one starts.
   * The event names no request: signing commands do not carry its id.
   */
  startOrFind(requested: TimeLock): Promise<TimeLock>;
  /** Locks in effect: pending, over, or cancelled a short time ago. Newest first. */
  list(accountId: string, now: Date): Promise<TimeLock[]>;
  /** Cancels with its event; returns the lock as it is then, undefined where there is none. */
  cancel(accountId: string, id: string, now: Date, requestId: string): Promise<TimeLock | undefined>;
}

/** Writes what a signature must leave behind before it leaves. */
export interface EffectStore {
  /**
   * Writes all effects in one transaction. The database checks the limits and conditions of some of them:
   * returns the first effect that it refuses, and then nothing is written.
   */
  record(account: Binding, effects: readonly Effect[], now: Date): Promise<Effect | undefined>;
}
