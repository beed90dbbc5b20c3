import type { PublicKey } from "@countersign/keys";
import type { App } from "../login.ts";
import type { Session } from "../sessions/session.ts";

/** The kind of key that answers a challenge. */
export type ChallengeType = "device-key" | "passkey";

export interface Challenge {
  /** Hex. */
  readonly data: string;
  readonly type: ChallengeType;
  readonly accountId: string;
  readonly chainName: string;
  readonly app: App;
  /** Absent: any passkey of the account. */
  readonly signer: PublicKey | undefined;
  /** The signer's registration, and when it was read. */
  readonly key: (SignInKey & { readonly readAt: Date }) | undefined;
  readonly authTime: Date | undefined;
  readonly expiresAt: Date;
}

export interface ChallengeStore {
  insert(challenge: Challenge): Promise<void>;
  find(data: string): Promise<Challenge | undefined>;
  /** Counts a wrong answer; false where the challenge is used or has had its five. */
  countWrongAnswer(data: string): Promise<boolean>;
  /**
   * Consumes the challenge, stores a passkey's counter and begins the session in one commit; false where a
   * concurrent answer was first. Errors, which change nothing: PleaseRegisterKey where a key was blocked
   * meanwhile, InvalidSignature where the counter has not grown.
   */
  succeed(data: string, session: Session, requestId: string, counter?: PasskeyCounter): Promise<boolean>;
}

/** An authenticator's signature counter; 0 where it has none. */
export interface PasskeyCounter {
  readonly key: PublicKey;
  readonly signCount: number;
}

/** The pair of keys of a registration. */
export interface SignInKey {
  /** The type of the account key. A device's identity key is a passkey only where it is the same key. */
  readonly type: "device" | "passkey";
  readonly accountKey: PublicKey;
  readonly deviceKey: PublicKey;
  /** How the key was registered. Sessions of a recovery key have the scope recover. */
  readonly origin: "sign-up" | "two-factor" | "recovery";
}

/**
 * key.v1.Keys/FindSignInKeys. `usedAt`: when the key answered a challenge, to be recorded. Errors:
 * PleaseRegisterKey.
 */
export type FindSignInKey = (accountId: string, chainName: string, key: PublicKey, usedAt?: Date) => Promise<SignInKey>;

/** Reports to key, within half a second, that a key of an account answered a challenge. */
export type RecordKeyUse = (accountId: string, chainName: string, key: PublicKey, usedAt: Date) => void;

/** key.v1.Keys/ListPasskeys: the passkeys that may sign in. */
export type ListPasskeys = (accountId: string, chainName: string) => Promise<SignInKey[]>;
