import type { PublicKey } from "@countersign/keys";

/** A key that the chain shows as revoked. */
export interface RevokedKey {
  readonly accountId: string;
  readonly accountKey: PublicKey;
  /** Sessions that began later are not meant. */
  readonly revokedAt: Date;
  readonly requestId: string;
}

export interface RevokedKeyStore {
  /** Ends the key's sessions, and keeps sign-ins that are under way from beginning one, in one commit. Doing it again changes nothing. */
  endRevoked(key: RevokedKey): Promise<void>;
}

export interface LeaveStore {
  /** The account has no server key any more: ends all of its sessions and has the signer refuse everything. Doing it again changes nothing. */
  leave(account: { accountId: string; leftAt: Date; requestId: string }): Promise<void>;
  hasLeft(accountId: string): Promise<boolean>;
}
