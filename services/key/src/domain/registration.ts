import type { PublicKey } from "@countersign/keys";

export type UserKeyType = "device" | "passkey";

/** How a key came to be registered; "chain": it was only seen there. */
export type KeyOrigin = "sign-up" | "two-factor" | "recovery" | "chain";

/** The origins that a person stands behind: only these keys sign in. */
export const SIGN_IN_ORIGINS: readonly KeyOrigin[] = ["sign-up", "two-factor", "recovery"];

/** A user key of an account on one chain. */
export interface Registration {
  /** UUIDv7. */
  id: string;
  accountId: string;
  chainName: string;
  app: { appId: string; appName: string };
  type: UserKeyType;
  /** The key on chain. */
  accountKey: PublicKey;
  /** The identity key of the device that holds it; often the same key. */
  deviceKey: PublicKey;
  name: string;
  /** Index on chain. */
  keyIndex: number;
  origin: KeyOrigin;
  createdAt: Date;
  /** null until a session was opened with it. */
  lastUsedAt: Date | null;
  /** null while the key is active. */
  revokedAt: Date | null;
}
