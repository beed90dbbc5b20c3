import type { PublicKey } from "@countersign/keys";
import type { Idempotency } from "../idempotency.ts";
import type { App } from "../login.ts";
import type { Session } from "../sessions/session.ts";
import type { StepContext } from "../sign-up/sign-up-saga.ts";
import type { KeysOfDevice, NewUserKey } from "../user-key.ts";

/** The lifetime of a 2FA request and of its ephemeral token. */
export const EPHEMERAL_TOKEN_MS = 5 * 60_000;

/** The sign-in of a new device: what its session will be made of. */
export interface TwoFactorSignIn extends NewUserKey {
  /** TwoFactorAuth.id, UUIDv7. */
  readonly id: string;
  readonly accountId: string;
  readonly chainName: string;
  readonly app: App;
  /** `jti` of the ephemeral token. */
  readonly tokenId: string;
  /** When the person logged in for it; undefined where the login did not say. */
  readonly authTime: Date | undefined;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly enrolledAt: Date | undefined;
  readonly finishedAt: Date | undefined;
}

/** Where a transaction can be looked up; `id` is 64 hex digits. */
export interface ChainTransaction {
  readonly id: string;
  readonly chainName: string;
  readonly refUrl: string;
}

export type BegunTwoFactor =
  | { readonly kind: "begun" | "replay"; readonly signIn: TwoFactorSignIn }
  | { readonly kind: "idempotency-key-reused" };

export interface TwoFactorSignInStore {
  /** Returns what was begun with this Idempotency-Key; undefined where nothing was. */
  replayOf(idempotency: Idempotency): Promise<Exclude<BegunTwoFactor, { kind: "begun" }> | undefined>;
  /**
   * Writes row and claim in one commit; of concurrent calls with the same key one begins, the others replay
   * it. Errors: AccountLeft.
   */
  begin(signIn: TwoFactorSignIn, idempotency: Idempotency | undefined): Promise<BegunTwoFactor>;
  find(accountId: string, id: string): Promise<TwoFactorSignIn | undefined>;
  /**
   * Returns whether a device with these keys may be enrolled, as the database has it now. blocked: one of
   * them is, or the account has left.
   */
  mayEnroll(accountId: string, keys: readonly PublicKey[]): Promise<"yes" | "frozen" | "blocked">;
  /** Returns the account's devices, except a request's, that have one of these keys, on any chain. */
  devicesWith(accountId: string, keys: KeysOfDevice, exceptId?: string): Promise<KeysOfDevice[]>;
  /** Returns whether a recovery key has a live session of the account. */
  isRecovering(accountId: string, now: Date): Promise<boolean>;
  /**
   * Records the transaction that put the request's key on chain, the first one only. Where its device was
   * removed from the account before, the key is blocked with it.
   */
  recordAddition(
    signIn: TwoFactorSignIn,
    transaction: ChainTransaction,
    context: { at: Date; requestId: string },
  ): Promise<void>;
  markEnrolled(id: string, transaction: ChainTransaction, now: Date): Promise<void>;
  /** Ends the ephemeral token of a request of the account that is over. Idempotent. */
  endToken(accountId: string, id: string): Promise<void>;
  /**
   * Opens the session, once, and ends the ephemeral token; false where a concurrent call was first.
   * Errors: PleaseRegisterKey, AccountFrozen.
   */
  finish(id: string, session: Session, now: Date, requestId: string): Promise<boolean>;
  /** Returns the transaction that added an enrolled device's key. */
  additionOf(accountId: string, chainName: string, accountKey: PublicKey): Promise<ChainTransaction | undefined>;
}

/** The request as the device service has it (device.v1.TwoFactor/DescribeEnrollment). */
export interface Enrollment {
  readonly id: string;
  readonly status: "pending" | "approved" | "rejected" | "expired" | "finished" | "failed";
  readonly chainName: string;
  readonly accountKey: PublicKey;
  readonly deviceKey: PublicKey;
  /** The new device's id, as its approver saw it. */
  readonly deviceId: string;
  /** Absent until the key is on the account. */
  readonly sealed: { readonly keyIndex: number; readonly transaction: ChainTransaction } | undefined;
}

/** Where a 2FA request comes from. */
export interface RequestSource {
  readonly email: string;
  /** "" where it is unknown. */
  readonly ip: string;
  /** The account's recovery key has signed in. */
  readonly recovering: boolean;
  /** The request carries the access token of a recovery session of the account. */
  readonly byRecoverySession: boolean;
}

/** The device service's 2FA requests. `Opened` is its own message, passed on unread. */
export interface TwoFactorRequests<Opened> {
  /** Errors: TwoFactorAuthClosed, RateLimited, AccountNotReady, UnsupportedKey, ChainUnavailable. */
  open(signIn: TwoFactorSignIn, from: RequestSource, context: StepContext): Promise<Opened>;
  /** By the request's id or the id of one of its messages. Errors: TwoFactorAuthNotFound. */
  describe(accountId: string, id: string, context: StepContext): Promise<Enrollment>;
  /** Errors: TwoFactorAuthFinished, and those of a request that cannot be finished. */
  finish(accountId: string, id: string, context: StepContext): Promise<void>;
}

type KeyOfAccount = Pick<TwoFactorSignIn, "accountId" | "chainName" | "app" | keyof NewUserKey>;

/** The steps that enroll a device; each is idempotent. */
export interface EnrollmentSteps {
  registerKey(key: KeyOfAccount, keyIndex: number, context: StepContext): Promise<void>;
  registerDevice(key: KeyOfAccount, deviceId: string, context: StepContext): Promise<void>;
}
