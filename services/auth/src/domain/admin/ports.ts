import type { Administrator } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import type { PlacedHold } from "../freeze/holds.ts";
import type { SignUpSaga } from "../sign-up/sign-up-saga.ts";

/** The outcome of a command, for the administrator to read. */
export interface Effect {
  readonly actionId: string;
  readonly details: readonly string[];
}

/** Names a sign-up. */
export interface OfSignUp {
  readonly accountId: string;
  readonly chainName: string;
}

/** A sign-up that is to be cancelled. */
interface TakenOver {
  readonly userKey: PublicKey;
  readonly drivenUntil: Date;
  readonly leaseUntil: Date;
}

/**
 * The acts of administrators. Each method commits its effect with its record, and its record alone decides a
 * request: of two approvals one acts.
 * Errors: AccountNotFound, SignUpNotFound; AdminRequestNotFound where `requestId` was decided.
 */
export interface AdminStore {
  openHolds(accountId?: string): Promise<readonly PlacedHold[]>;
  hold(by: Administrator, accountId: string): Promise<Effect>;
  liftHolds(by: Administrator, command: { accountId: string; seen: string }, requestId?: string): Promise<Effect>;
  endSessions(by: Administrator, accountId: string): Promise<Effect>;
  /** Leases an unfinished sign-up for the caller. */
  leaseSignUp(by: Administrator, of: OfSignUp, leaseUntil: Date): Promise<Effect & { readonly saga: SignUpSaga }>;
  /**
   * Records that a sign-up is to be cancelled, and takes its lease over so that no runner continues it. Until
   * `drivenUntil` a request or runner may still be driving it; the new lease lasts for `leaseMs` after that.
   * Errors: SignUpOnChain where its account is on chain, or meant for another chain too.
   */
  beginCancel(by: Administrator, of: OfSignUp, leaseMs: number): Promise<TakenOver>;
  /**
   * Erases the person of a sign-up whose deployment was given up. Errors: as beginCancel; SignUpOnChain where
   * another one has leased it since.
   */
  cancelSignUp(by: Administrator, of: OfSignUp, leaseUntil: Date): Promise<Effect>;
  /** Errors: SignUpOnChain while a sign-up is under way. */
  erase(by: Administrator, accountId: string, requestId?: string): Promise<Effect>;
}
