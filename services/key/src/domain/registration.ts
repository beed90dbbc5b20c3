import type { PublicKey } from "@countersign/keys";

export type UserKeyType = "device" | "passkey";

/** How a key came to be registered; "chain": it was only seen there. */
export type KeyOrigin = "sign-up" | "two-factor" | "recovery" | "chain";

/** The origins of keys that a person registered: only these keys sign in. */
const SIGN_IN_ORIGINS: readonly KeyOrigin[] = ["sign-up", "two-factor", "recovery"];

/** The use of a key: by a device or passkey, or for recovery when all of those are lost. */
export type KeyKind = "user" | "recovery";

/** A key of an account on one chain. */
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
  /** Index on chain; -1 for a recovery key that the chain does not show yet. */
  keyIndex: number;
  origin: KeyOrigin;
  kind: KeyKind;
  /** On chain; 0 while it was not read there. */
  weight: number;
  /** Of a recovery key; "" otherwise. */
  cloudAccountName: string;
  /** Until then the chain has to show a reported recovery key; null for every other. */
  pendingUntil: Date | null;
  /** When key-discovered is emitted for an unregistered key; null once it was, and for every other key. */
  alertAt: Date | null;
  createdAt: Date;
  /** null until a session was opened with it. */
  lastUsedAt: Date | null;
  /** null while the key is active. */
  revokedAt: Date | null;
}

/** The members of a user key that only other kinds of keys use. */
export const OF_USER_KEY = {
  kind: "user",
  weight: 0,
  cloudAccountName: "",
  pendingUntil: null,
  alertAt: null,
} as const satisfies Partial<Registration>;

/** Returns whether a key is on the account now: neither revoked nor only reported. */
export const isActive = ({ revokedAt, keyIndex }: Registration): boolean => revokedAt === null && keyIndex >= 0;

/** Returns whether a key signs in to its account. */
export const signsIn = (registration: Registration): boolean =>
  isActive(registration) && SIGN_IN_ORIGINS.includes(registration.origin);
