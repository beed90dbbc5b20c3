import type { PublicKey } from "@countersign/keys";

/** A key that was revoked on chain. */
interface RevokedKey {
  readonly accountId: string;
  readonly accountKey: PublicKey;
  /** Sessions that began more than a minute later stay: they are of a key that was added again. */
  readonly revokedAt: Date;
  readonly requestId: string;
}

export interface BlockedKeyStore {
  /**
   * Returns the keys of an account that are blocked: those of removed devices for good, revoked ones for as
   * long as their tokens live. They open no session, and the signer co-signs nothing that they signed.
   */
  blockedKeys(accountId: string, now: Date): Promise<PublicKey[]>;
  /** Returns whether the account's server key was revoked on every chain: it gets no tokens. */
  hasLeft(accountId: string): Promise<boolean>;
}

/** A device of an account whose access ends. */
export interface DeviceCutOff {
  readonly accountId: string;
  /** The identity key of the device. */
  readonly deviceKey: PublicKey;
  readonly removedAt: Date;
  readonly requestId: string;
}

export interface AccessStore {
  /** Ends the key's sessions, and stops concurrent sign-ins from beginning one, in one commit. Idempotent. */
  endRevoked(key: RevokedKey): Promise<void>;
  /**
   * Blocks the device's keys for good, for sign-in and co-signing, and ends the sessions that use them, in
   * one commit. Idempotent.
   */
  cutOff(device: DeviceCutOff): Promise<void>;
  /**
   * Ends all sessions of an account without a server key, and has the signer refuse its tokens until the last
   * one has expired. The account begins no session after that. Idempotent.
   */
  leave(account: { accountId: string; leftAt: Date; requestId: string }): Promise<void>;
}
