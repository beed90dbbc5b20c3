import type { Clock, TraceParent } from "@countersign/core";
import type { TransactionSignature } from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import type { DeviceStore } from "../devices/device-store.ts";
import type {
  ChainTransaction,
  EnrollingKey,
  KeyAddition,
  ShownMessage,
  TwoFactor,
  TwoFactorStatus,
} from "./two-factor.ts";
import type { Step } from "./two-factor-state.ts";

/** A user key's signature in the form that a transaction has; both are hex. */
export type UserSignature = Pick<TransactionSignature, "signature" | "extensionData">;

/** The part of the user's call that is passed on to other services. */
export interface UserCall {
  requestId: string;
  trace: TraceParent;
  rawToken?: string;
}

/** The two keys of a device. */
export type KeysOfDevice = Pick<EnrollingKey, "accountKey" | "deviceKey">;

/** One account's requests inside one exclusive transaction. */
export interface AccountRequests {
  /** Whether the account has a request with this id. */
  has(id: string): Promise<boolean>;
  /** When the requests end that are pending at this time, soonest first. */
  pendingUntil(now: Date): Promise<Date[]>;
  /** The keys of requests with one of these that are pending, approved or finished, on any chain. */
  claimsOf(keys: KeysOfDevice): Promise<KeysOfDevice[]>;
  countRejectedAfter(time: Date): Promise<number>;
  /** When the account last accepted new requests again. */
  reopenedAt(): Promise<Date | null>;
  reopen(now: Date): Promise<void>;
  /** Inserts the request and its event "pending"; false where the id is taken, on any account. */
  insert(request: TwoFactor, context: EventContext): Promise<boolean>;
}

/** When a change happened, and the id of the call that caused it. */
export interface EventContext {
  occurredAt: Date;
  requestId: string;
}

export interface TwoFactorStore {
  /**
   * Runs `work` in one transaction, alone among all replicas for this account; an error rolls everything
   * back.
   */
  withAccount<T>(accountId: string, work: (requests: AccountRequests) => Promise<T>): Promise<T>;
  /** By the request's id or any message id, only the account's. */
  find(accountId: string, id: string): Promise<TwoFactor | undefined>;
  /** Newest first, at most `limit`. */
  list(accountId: string, filter: { status?: TwoFactorStatus | undefined; limit: number }): Promise<TwoFactor[]>;
  /** The message that was shown first. */
  firstMessage(id: string): Promise<Uint8Array>;
  /** The messages that were shown before the current one, newest first, at most `limit`. */
  earlierMessages(request: TwoFactor, limit: number): Promise<ShownMessage[]>;
  /**
   * Takes the step where its guard holds, with its event; otherwise undefined. One of two concurrent steps
   * wins.
   */
  take(id: string, step: Step, context: EventContext): Promise<TwoFactor | undefined>;
  /** Counts a wrong approval; false where `limit` of them are counted already. */
  countWrongApproval(id: string, limit: number): Promise<boolean>;
  /** Pending requests without an attempt that expired by `now`, the longest overdue first. */
  due(now: Date, limit: number): Promise<TwoFactor[]>;
  /**
   * Requests whose `reconcileAt` has come; it is moved to `until`, so that other replicas leave them alone.
   */
  leaseUnconfirmed(now: Date, until: Date, limit: number): Promise<TwoFactor[]>;
  /**
   * Deletes requests that ended before a time: they contain e-mail and IP addresses. Returns whether some are
   * left.
   */
  forget(endedBefore: Date): Promise<boolean>;
}

/** The state of an attempt, as the account service knows it. */
export type AttemptOutcome =
  | { status: "submitted"; transaction: ChainTransaction }
  | { status: "sealed"; transaction: ChainTransaction; keyIndex: number }
  | { status: "failed"; transaction: ChainTransaction }
  | { status: "abandoned" };

/**
 * Errors of KeyAdditions.submit after which nothing was and nothing will be submitted. Any other error leaves
 * the outcome open.
 */
export const NOTHING_SUBMITTED = [
  "InvalidSignature",
  "SigningRefused",
  "MessageRenewed",
  "AccountFrozen",
  "AccountNotReady",
  "InvalidAccessToken",
  "SessionEnded",
  "AccessTokenExpired",
  "InsufficientScope",
  "TooManyKeys",
  "TimeLockRequired",
  "TimeLockCancelled",
] as const;

/** The account service's transactions that add keys. */
export interface KeyAdditions {
  /**
   * Returns `currentMessage` again while the chain would take it, otherwise a new message.
   * Errors: AccountNotReady, UnsupportedKey, TooManyKeys, ChainUnavailable.
   */
  prepare(addition: KeyAddition, currentMessage: Uint8Array): Promise<Uint8Array>;
  /** Has the transaction co-signed and submitted. Errors: those of NOTHING_SUBMITTED, and any other. */
  submit(
    addition: KeyAddition & {
      attemptId: string;
      message: Uint8Array;
      approverKey: PublicKey;
      signature: UserSignature;
    },
    call: UserCall,
  ): Promise<ChainTransaction>;
  /**
   * Returns what became of an attempt. Signs nothing; an attempt without committed bytes is abandoned.
   */
  reconcile(attempt: { accountId: string; attemptId: string }): Promise<AttemptOutcome>;
  /** Errors: TransactionMismatch, TransactionPending, ChainUnavailable. */
  verify(
    addition: KeyAddition & { transactionId: string; notBefore: Date; firstMessage: Uint8Array },
    call: UserCall,
  ): Promise<{ transaction: ChainTransaction; keyIndex: number }>;
}

export interface TwoFactorPorts {
  requests: TwoFactorStore;
  devices: DeviceStore;
  keyAdditions: KeyAdditions;
  clock: Clock;
}
