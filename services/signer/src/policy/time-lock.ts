import { AppError, DAY_MS, type VerifiedToken } from "@countersign/core";
import type { Binding } from "./account.ts";
import type { Template } from "./template.ts";

/** Time locks of the templates that change who controls an account, in milliseconds. */
export interface TimeLockPolicy {
  /** Changes of the recovery key. */
  readonly recoveryKeyMs: number;
  /** An account younger than this changes its recovery key without a time lock. */
  readonly youngAccountMs: number;
  /** A device that a recovery key enrolls. */
  readonly recoveredDeviceMs: number;
  /** A device's key must be this old to revoke another key without a time lock. */
  readonly youngDeviceMs: number;
  /** How old the login behind a change of the recovery key may be. */
  readonly loginMaxAgeMs: number;
  /** How long, from the first request on, devices may cancel the enrollment of one by a recovery key. */
  readonly contestMs: number;
  /** How long a template is signed after its time lock. */
  readonly goodForMs: number;
}

/** Clocks of auth and signer may differ by this much. */
export const CLOCK_SKEW_MS = 30_000;

/** Returns LoginTooOld for a login that is older than the policy allows, unknown, or in the future. */
export function staleLogin(
  authTime: Date | undefined,
  now: Date,
  { loginMaxAgeMs }: Pick<TimeLockPolicy, "loginMaxAgeMs">,
): AppError | undefined {
  const seconds = loginMaxAgeMs / 1000;
  const advice =
    `Log in again with max_age=${seconds} and sign in with the ID token or the code, not with an access token: ` +
    "the time of the login is the ID token's auth_time";
  const stale = (problem: string) => new AppError("LoginTooOld", { detail: `${problem}. ${advice}` });
  if (authTime === undefined) {
    return stale(
      "The login behind this session does not say when the person logged in: it was an access token, or an ID token without auth_time",
    );
  }
  const ageMs = now.getTime() - authTime.getTime();
  if (ageMs > loginMaxAgeMs) {
    return stale(`The login behind this session is of ${authTime.toISOString()}, more than ${seconds} seconds ago`);
  }
  return ageMs < -CLOCK_SKEW_MS
    ? stale(`The login behind this session is in the future (${authTime.toISOString()})`)
    : undefined;
}

/** The facts by which a template has a time lock. */
export interface TimeLockFacts {
  readonly template: Pick<Template, "name">;
  readonly token: Pick<VerifiedToken, "scope">;
  readonly account: Pick<Binding, "boundAt">;
  readonly now: Date;
  readonly timeLockPolicy: TimeLockPolicy;
  /**
   * One of the account's recovery keys has signed the payload, or may have (see `hasSigned`). Loaded where
   * the template adds a user key.
   */
  readonly recoveryKeySigned: boolean;
  /**
   * How long the session's key has been on the account; loaded where the template revokes another user key.
   */
  readonly accountKeyAgeMs: number | undefined;
}

/**
 * Returns the time lock before a template is signed; undefined: none. An unlocked phone in a thief's hand, a
 * cloud account that holds both login and recovery key, or an owner who approves a thief's device, must not
 * be enough for good. An account whose age is not known counts as old.
 */
export function timeLockOf(facts: TimeLockFacts): { lockMs: number; needsFreshLogin: boolean } | undefined {
  const { template, token, account, now, timeLockPolicy: policy, recoveryKeySigned, accountKeyAgeMs } = facts;
  switch (template.name) {
    case "add-recovery-key":
    case "replace-recovery-key":
    case "revoke-recovery-key": {
      const { boundAt } = account;
      const isYoung = boundAt !== undefined && now.getTime() - boundAt.getTime() < policy.youngAccountMs;
      return { lockMs: isYoung ? 0 : policy.recoveryKeyMs, needsFreshLogin: true };
    }
    case "add-user-key":
      // For every session: the chain needs no more than the recovery key's and the server key's signatures.
      return token.scope === "recover" || recoveryKeySigned
        ? { lockMs: policy.recoveredDeviceMs, needsFreshLogin: false }
        : undefined;
    case "revoke-user-key": {
      const lockMs = accountKeyAgeMs === undefined ? 0 : policy.youngDeviceMs - accountKeyAgeMs;
      return lockMs > 0 ? { lockMs, needsFreshLogin: false } : undefined;
    }
    default:
      return undefined;
  }
}

/** A template that was requested and is signed after a time lock: one per account, chain and operation. */
export interface TimeLock {
  /** UUIDv7; another request of the same operation has another one. */
  readonly id: string;
  readonly accountId: string;
  readonly chainName: string;
  /** The template's name. */
  readonly operation: string;
  /** SHA-256 of script and arguments, hex: only the same request is granted. */
  readonly requestHash: string;
  readonly startedAt: Date;
  readonly availableAt: Date;
  /** After it the time lock begins again. */
  readonly lapsesAt: Date;
  readonly cancelledAt: Date | null;
  /** When the first of an uninterrupted series of requests of this operation began. */
  readonly contestedSince: Date;
}

/** Returns the end of the time for which a cancelled request stays refused: as long as its time lock. */
const refusedUntil = ({ startedAt, availableAt, cancelledAt }: TimeLock): Date | undefined =>
  cancelledAt === null ? undefined : new Date(cancelledAt.getTime() + (availableAt.getTime() - startedAt.getTime()));

/** A request continues the series of the one before when it follows that one's end within this time. */
const CONTEST_GAP_MS = 7 * DAY_MS;

/**
 * Returns the requested lock as it replaces the known one: it inherits the beginning of an uninterrupted
 * series.
 */
export function succeeding(known: TimeLock | null | undefined, requested: TimeLock): TimeLock {
  if (!known) return requested;
  const end = refusedUntil(known) ?? known.lapsesAt;
  const isOfSeries = requested.startedAt.getTime() < end.getTime() + CONTEST_GAP_MS;
  return isOfSeries ? { ...requested, contestedSince: known.contestedSince } : requested;
}

/** Returns whether a lock still decides about the same request. */
export const isInEffect = (lock: TimeLock, now: Date): boolean => now < (refusedUntil(lock) ?? lock.lapsesAt);
