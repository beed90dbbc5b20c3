import { AppError, type VerifiedToken } from "@countersign/core";
import type { Template } from "./template.ts";

/** How long what matters most has to wait; all of them in milliseconds. */
export interface DelayPolicy {
  /** Changes of the recovery key. */
  readonly recoveryKeyMs: number;
  /** An account younger than this changes its recovery key at once: there is nothing to take from it yet. */
  readonly youngAccountMs: number;
  /** A device that a recovery key lets in. */
  readonly recoveredDeviceMs: number;
  /** A device's key younger than this waits before it revokes another key. */
  readonly youngDeviceMs: number;
  /** How old the login behind a change of the recovery key may be. */
  readonly loginMaxAgeMs: number;
  /** For how long, from the first request on, a device keeps out what a recovery key lets in. */
  readonly contestMs: number;
  /** How long what has waited is signed. */
  readonly goodForMs: number;
}

/** Clocks of auth and signer may differ by this much. */
const CLOCK_SKEW_MS = 30_000;

/** Refuses a login that is older than the policy allows, unknown, or in the future. Errors: LoginTooOld. */
export function requireFreshLogin(authTime: Date | undefined, now: Date, { loginMaxAgeMs }: DelayPolicy): void {
  const seconds = loginMaxAgeMs / 1000;
  const advice =
    `Log in again with max_age=${seconds} and sign in with the ID token or the code, not with an access token: ` +
    "the time of the login is the ID token's auth_time";
  const refuse = (problem: string) => new AppError("LoginTooOld", { detail: `${problem}. ${advice}` });
  if (authTime === undefined) {
    throw refuse(
      "The login behind this session does not say when the person logged in: it was an access token, or an ID token without auth_time",
    );
  }
  const ageMs = now.getTime() - authTime.getTime();
  if (ageMs > loginMaxAgeMs) {
    throw refuse(`The login behind this session is of ${authTime.toISOString()}, more than ${seconds} seconds ago`);
  }
  if (ageMs < -CLOCK_SKEW_MS)
    throw refuse(`The login behind this session is in the future (${authTime.toISOString()})`);
}

/** What stands before a signature. */
export interface Delay {
  readonly delayMs: number;
  readonly needsFreshLogin: boolean;
}

/** Who asks for a template. */
export interface Requester {
  readonly scope: VerifiedToken["scope"];
  readonly recoveryKeySigned: boolean;
  /**
   * Milliseconds that the session's key has been on the account; used only where another user key is revoked.
   */
  readonly keyAgeMs?: number | undefined;
}

/**
 * Returns the delay that a template needs; undefined where it needs none. An unlocked phone in a thief's
 * hand, a cloud account that holds both login and recovery key, or an owner who approves a thief's device,
 * must not be enough for good. `accountAgeMs`: undefined where it is not known, which counts as old.
 */
export function delayOf(
  template: Template | undefined,
  by: Requester,
  accountAgeMs: number | undefined,
  policy: DelayPolicy,
): Delay | undefined {
  switch (template?.name) {
    case "add-recovery-key":
    case "replace-recovery-key":
    case "revoke-recovery-key": {
      const isYoung = accountAgeMs !== undefined && accountAgeMs < policy.youngAccountMs;
      return { delayMs: isYoung ? 0 : policy.recoveryKeyMs, needsFreshLogin: true };
    }
    case "add-user-key":
      // Whoever brings the message: with the server's signature the recovery key's own is all that the chain asks for.
      return by.scope === "recover" || by.recoveryKeySigned
        ? { delayMs: policy.recoveredDeviceMs, needsFreshLogin: false }
        : undefined;
    case "revoke-user-key": {
      const delayMs = by.keyAgeMs === undefined ? 0 : policy.youngDeviceMs - by.keyAgeMs;
      return delayMs > 0 ? { delayMs, needsFreshLogin: false } : undefined;
    }
    default:
      return undefined;
  }
}
