import type { PublicKey } from "@countersign/keys";
import type { Idempotency } from "../idempotency.ts";
import type { App } from "../login.ts";
import type { Session } from "../sessions/session.ts";
import type { DeviceAttributes, StepContext } from "../sign-up/sign-up-saga.ts";

/** A request for approval lives as long as its ephemeral token. */
export const EPHEMERAL_TOKEN_MS = 5 * 60_000;

/** A new device that asks to be let in: what its session will be made of. */
export interface TwoFactorSignIn {
  /** TwoFactorAuth.id, UUIDv7. */
  readonly id: string;
  readonly accountId: string;
  readonly chainName: string;
  readonly app: App;
  readonly userKeyType: "device" | "passkey";
  /** What is to be added on chain. */
  readonly userKey: PublicKey;
  /** The new device's identity key. */
  readonly deviceKey: PublicKey;
  readonly device: DeviceAttributes;
  /** `jti` of the ephemeral token. */
  readonly tokenId: string;
  /** When the person logged in for it; undefined where the login did not say. */
  readonly authTime: Date | undefined;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly admittedAt: Date | undefined;
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
  /** What was begun under this Idempotency-Key; undefined: nothing. */
  replayOf(idempotency: Idempotency): Promise<Exclude<BegunTwoFactor, { kind: "begun" }> | undefined>;
  /** Row and claim in one commit; of several at once with the same key one begins and the others find what it began. */
  begin(signIn: TwoFactorSignIn, idempotency: Idempotency | undefined): Promise<BegunTwoFactor>;
  find(accountId: string, id: string): Promise<TwoFactorSignIn | undefined>;
  /** Whether a device with these keys may come in, as the database has it now. */
  mayAdmit(accountId: string, keys: readonly PublicKey[]): Promise<"yes" | "frozen" | "blocked">;
  /** Whether a recovery key has a live session of the account. */
  isRecovering(accountId: string, now: Date): Promise<boolean>;
  /**
   * Notes the transaction that put the request's key on chain, the first one only. Where its device was
   * removed from the account before, the key is blocked with it.
   */
  noteAddition(signIn: TwoFactorSignIn, transaction: ChainTransaction): Promise<void>;
  markAdmitted(id: string, transaction: ChainTransaction, now: Date): Promise<void>;
  /** Ends the ephemeral token of a request that is over; again changes nothing, and neither does another account's. */
  endToken(accountId: string, id: string): Promise<void>;
  /** Opens the session, once, and ends the ephemeral token: false where somebody was first. Errors: PleaseRegisterKey, AccountFrozen. */
  finish(id: string, session: Session, now: Date, requestId: string): Promise<boolean>;
  /** The transaction that added an admitted device's key. */
  additionOf(accountId: string, chainName: string, userKey: PublicKey): Promise<ChainTransaction | undefined>;
}

/** The request as the device service has it (device.v1.TwoFactor/DescribeEnrollment). */
export interface Admission {
  readonly id: string;
  readonly status: "pending" | "approved" | "rejected" | "expired" | "finished" | "failed";
  readonly chainName: string;
  readonly userKey: PublicKey;
  readonly deviceKey: PublicKey;
  /** The new device's id, as its approver saw it. */
  readonly deviceId: string;
  /** Absent until the key is on the account. */
  readonly sealed: { readonly keyIndex: number; readonly transaction: ChainTransaction } | undefined;
}

/** Where a request for approval comes from. */
export interface RequestSource {
  readonly email: string;
  /** Empty where it is not known. */
  readonly ip: string;
  /** The account's recovery key has signed in. */
  readonly recovering: boolean;
}

/** The device service's part. `Opened` is its own message, passed on unread. */
export interface TwoFactorRequests<Opened> {
  /** Errors: TwoFactorAuthClosed, RateLimited, AccountNotReady, UnsupportedKey, ChainUnavailable. */
  open(signIn: TwoFactorSignIn, from: RequestSource, context: StepContext): Promise<Opened>;
  /** By the request's id or any of its request ids. Errors: TwoFactorAuthNotFound. */
  describe(accountId: string, id: string, context: StepContext): Promise<Admission>;
  /** Errors: TwoFactorAuthFinished and why else not. */
  finish(accountId: string, id: string, context: StepContext): Promise<void>;
}

/** What admits a device; each is idempotent. */
export interface AdmissionSteps {
  registerKey(signIn: TwoFactorSignIn, keyIndex: number, context: StepContext): Promise<void>;
  registerDevice(signIn: TwoFactorSignIn, deviceId: string, context: StepContext): Promise<void>;
}
