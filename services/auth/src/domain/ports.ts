import type { PublicKey } from "@countersign/keys";
import type { Idempotency } from "./idempotency.ts";
import type { LoginProfile } from "./login.ts";
import type { EndCause, Session } from "./sessions/session.ts";
import type { MarkStep, SignUpSaga } from "./sign-up/sign-up-saga.ts";

/** An account as it is answered after sign-in; the account service's own message, passed on unread. */
export interface SignedInAccount<Account, Transaction> {
  readonly account: Account;
  readonly transaction: Transaction;
}

/** What a sign-up found when it claimed its place. */
export type SignUpClaim =
  | { readonly kind: "drive"; readonly saga: SignUpSaga }
  /** Finished before; only the same Idempotency-Key gets here. */
  | { readonly kind: "replay"; readonly saga: SignUpSaga }
  | { readonly kind: "account-exists" }
  | { readonly kind: "idempotency-key-reused" };

export interface SignUpWish extends Omit<SignUpSaga, "accountId" | "done"> {
  readonly profile: LoginProfile;
  /** Used where the identity is new. */
  readonly newAccountId: string;
  /** A full session of the account that the wish comes from, for a further chain. */
  readonly session:
    | { readonly accountId: string; readonly accountKey: PublicKey; readonly deviceKey: PublicKey }
    | undefined;
  readonly idempotency: Idempotency | undefined;
  readonly leaseUntil: Date;
  readonly now: Date;
}

export interface SignUpStore {
  /** Identity, saga row and idempotency claim in one commit; racing requests of one identity come one after the other. */
  claim(wish: SignUpWish): Promise<SignUpClaim>;
  mark: MarkStep;
  /** The chain refused the deployment, and every try costs fees: the runner leaves it alone, its owner may ask again. */
  giveUp(saga: SignUpSaga): Promise<void>;
  /** Leases sagas that nobody is driving. */
  leaseAbandoned(now: Date, leaseUntil: Date, limit: number): Promise<SignUpSaga[]>;
}

export interface IdentityStore {
  /** The account of an identity. */
  accountOf(issuer: string, subject: string): Promise<string | undefined>;
  /** The one account that signed up with this key, if it is one: for development without login tokens only. */
  accountByKey(key: PublicKey): Promise<string | undefined>;
  /** The one account of this e-mail address, if it is one: for development without login tokens only. */
  accountByEmail(email: string): Promise<string | undefined>;
}

/** What kind of key answers a challenge. */
export type ChallengeType = "device-key" | "passkey";

export interface Challenge {
  /** Hex. */
  readonly data: string;
  readonly type: ChallengeType;
  readonly accountId: string;
  readonly chainName: string;
  readonly app: LoginProfile["app"];
  /** Absent: any passkey of the account. */
  readonly signer: PublicKey | undefined;
  readonly authTime: Date | undefined;
  readonly expiresAt: Date;
}

export interface ChallengeStore {
  insert(challenge: Challenge): Promise<void>;
  find(data: string): Promise<Challenge | undefined>;
  /** Counts an attempt; false where the challenge is used or has had its five. */
  attempt(data: string): Promise<boolean>;
  /**
   * Consumes the challenge and begins the session in one commit, a passkey's counter with it; false where somebody was first.
   * Errors: InvalidSignature where the counter has not grown since it was last stored: then nothing is changed.
   */
  succeed(data: string, session: Session, now: Date, requestId: string, counter?: PasskeyCounter): Promise<boolean>;
}

export interface SessionStore {
  /** Begins a session, and ends the one that the same device had of the same app in the same commit. */
  begin(session: Session, requestId: string): Promise<void>;
  /** Runs `work` with the live session locked; what it answers as `next` is stored. Undefined where there is no live session. */
  update<T>(
    id: string,
    work: (session: Session) => { next?: Session; end?: EndCause; result: T },
    now: Date,
    requestId: string,
  ): Promise<T | undefined>;
  list(accountId: string, now: Date): Promise<Session[]>;
  /** Ends live sessions of the account; answers how many. */
  end(
    accountId: string,
    which: { id: string } | { allBut: string },
    cause: EndCause,
    now: Date,
    requestId: string,
  ): Promise<number>;
}

/** What an authenticator counts its signatures with; 0 where it has no counter. */
export interface PasskeyCounter {
  readonly key: PublicKey;
  readonly signCount: number;
}

/** The pair of keys that a registration names. */
export interface SignInKey {
  /** What the account key is; a device's identity key is none of a passkey unless it is the same key. */
  readonly type: "device" | "passkey";
  readonly accountKey: PublicKey;
  readonly deviceKey: PublicKey;
  /** A recovery key: its sessions have the scope recover. */
  readonly isRecovery: boolean;
}

/** key.v1.Keys/FindSignInKey. Errors: PleaseRegisterKey. */
export type FindSignInKey = (accountId: string, chainName: string, key: PublicKey) => Promise<SignInKey>;

/** key.v1.Keys/ListPasskeys: those that may sign in. */
export type ListPasskeys = (accountId: string, chainName: string) => Promise<SignInKey[]>;
