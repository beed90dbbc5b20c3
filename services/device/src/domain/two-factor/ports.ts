import type { Clock } from "@countersign/core";
import type { TransactionSignature } from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import type { CallContext } from "@countersign/rpc";
import type { DeviceStore } from "../devices/device-store.ts";
import type { ChainTransaction, ShownMessage, TwoFactor, TwoFactorStatus } from "./two-factor.ts";
import type { Step } from "./two-factor-state.ts";

/** A user key's signature as it stands in a transaction; both are hex. */
export type UserSignature = Pick<TransactionSignature, "signature" | "extensionData">;

/** The user's call that is being answered, as far as other services are told of it. */
export type UserCall = Pick<CallContext, "requestId" | "trace" | "rawToken">;

/** One account's requests inside one transaction that nobody else shares. */
export interface AccountRequests {
  /** Whether the account has a request of this id. */
  has(id: string): Promise<boolean>;
  /** When the requests end that wait at this time, soonest first. */
  pendingUntil(now: Date): Promise<Date[]>;
  countRejectedAfter(time: Date): Promise<number>;
  /** When the account last let new requests in again. */
  reopenedAt(): Promise<Date | null>;
  reopen(now: Date): Promise<void>;
  /** Inserts and tells "pending"; false where the id is taken, by whichever account. */
  insert(request: TwoFactor, context: EventContext): Promise<boolean>;
}

/** Of whose doing an event tells. */
export interface EventContext {
  occurredAt: Date;
  requestId: string;
}

export interface TwoFactorStore {
  /** Runs `work` in one transaction, alone among all replicas for this account; an error undoes everything. */
  withAccount<T>(accountId: string, work: (requests: AccountRequests) => Promise<T>): Promise<T>;
  /** By the id or any request id, only the account's. */
  find(accountId: string, id: string): Promise<TwoFactor | undefined>;
  /** Newest first, at most `limit`. */
  list(accountId: string, filter: { status?: TwoFactorStatus | undefined; limit: number }): Promise<TwoFactor[]>;
  /** What was shown first. */
  firstMessage(id: string): Promise<Uint8Array>;
  /** What was shown before the current message, newest first, at most `limit`. */
  earlierMessages(request: TwoFactor, limit: number): Promise<ShownMessage[]>;
  /** Takes the step where its guard holds, with its event; undefined where it does not. Of two at once one comes second. */
  take(id: string, step: Step, context: EventContext): Promise<TwoFactor | undefined>;
  /** Counts a wrong approval; false where `limit` of them are counted already. */
  countWrongApproval(id: string, limit: number): Promise<boolean>;
  /** Pending requests without an attempt that are over by `now`, the longest overdue first. */
  due(now: Date, limit: number): Promise<TwoFactor[]>;
  /** Requests whose `settleAt` has come, each put off until `until`, so that other replicas leave them alone. */
  leaseUnsettled(now: Date, until: Date, limit: number): Promise<TwoFactor[]>;
  /** Forgets what ended before a time: rows name e-mail and address. */
  forget(endedBefore: Date): Promise<void>;
}

/** How far an attempt is, as the account service says. */
export type Settlement =
  | { status: "submitted"; transaction: ChainTransaction }
  | { status: "sealed"; transaction: ChainTransaction; keyIndex: number }
  | { status: "failed"; transaction: ChainTransaction }
  | { status: "abandoned" };

/** Which key is to be added where. */
export interface KeyAddition {
  accountId: string;
  chainName: string;
  userKey: PublicKey;
}

/** The account service's part: the transactions that add keys. */
export interface KeyAdditions {
  /** `currentMessage` again while the chain would take it, a new message otherwise. Errors: AccountNotReady, UnsupportedKey, ChainUnavailable. */
  prepare(addition: KeyAddition, currentMessage: Uint8Array): Promise<Uint8Array>;
  /** Errors: InvalidSignature, SigningRefused, MessageRenewed: nothing was and nothing will be submitted. Anything else: not known. */
  submit(
    addition: KeyAddition & {
      attemptId: string;
      message: Uint8Array;
      approverKey: PublicKey;
      signature: UserSignature;
    },
    call: UserCall,
  ): Promise<ChainTransaction>;
  /** Never signs; an attempt of which nothing was committed is closed for good. */
  settle(attempt: { accountId: string; attemptId: string }): Promise<Settlement>;
  /** Errors: TransactionMismatch, TransactionPending, ChainUnavailable. */
  verify(
    addition: KeyAddition & { transactionId: string; notBefore: Date; firstMessage: Uint8Array },
    call: UserCall,
  ): Promise<{ transaction: ChainTransaction; keyIndex: number }>;
}

/** What the commands about requests work with. */
export interface TwoFactorPorts {
  requests: TwoFactorStore;
  devices: DeviceStore;
  keyAdditions: KeyAdditions;
  clock: Clock;
}
