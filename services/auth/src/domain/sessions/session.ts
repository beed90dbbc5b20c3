import { DAY_MS } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import type { App } from "../login.ts";

/** Access tokens live 15 minutes, refresh tokens 30 days, a session 180 days. */
export const ACCESS_TOKEN_MS = 15 * 60_000;
export const REFRESH_TOKEN_MS = 30 * DAY_MS;
export const SESSION_MS = 180 * DAY_MS;
/** How long the last refresh token may be sent again, since its answer may have been lost. */
export const REFRESH_RETRY_MS = 30_000;

/**
 * A session of a recovery key ends after seven days, however often it is refreshed: it is for enrolling a
 * device.
 */
export const RECOVERY_SESSION_MS = 7 * DAY_MS;

/** full: a device's. recover: a recovery key's; reads, freezes, and enrolls one new device. */
export type SessionScope = "full" | "recover";

export interface Session {
  readonly id: string;
  readonly accountId: string;
  readonly app: App;
  /** The identity key of the device that signed in. */
  readonly deviceKey: PublicKey;
  /** That device's key on chain. */
  readonly accountKey: PublicKey;
  /**
   * When the person logged in at the provider, also after a refresh; undefined where the login did not say.
   */
  readonly authTime: Date | undefined;
  readonly createdAt: Date;
  readonly lastUsedAt: Date;
  readonly expiresAt: Date;
  readonly refreshId: string;
  readonly refreshExpiresAt: Date;
  readonly previousRefreshId: string | undefined;
  readonly rotatedAt: Date | undefined;
  readonly proofRequired: boolean;
  readonly scope: SessionScope;
}

/**
 * Sessions of a device, or of the recovery key, that others end in a day: a thief's phone could end each one
 * before the owner has removed it, or has enrolled a device.
 */
export const MAX_ENDED_BY_OTHERS = 5;

/** The tokens of a session; both are JWTs. */
export interface Credentials {
  readonly accessToken: string;
  readonly refreshToken: string;
}

export type EndCause =
  | "signed-out"
  | "ended-by-user"
  /** The same device has begun another session of the same app. */
  | "replaced"
  | "refresh-token-reused"
  | "device-removed"
  | "key-revoked"
  | "account-left"
  | "administrator";

/** Returns a new session. `createdAt`: when its key was read, perhaps a moment ago. */
export function beginSession(
  start: Pick<Session, "id" | "refreshId" | "accountId" | "app" | "deviceKey" | "accountKey" | "authTime">,
  createdAt: Date,
  scope: SessionScope = "full",
): Session {
  const sessionMs = scope === "full" ? SESSION_MS : RECOVERY_SESSION_MS;
  const after = (ms: number) => new Date(createdAt.getTime() + Math.min(ms, sessionMs));
  return {
    ...start,
    createdAt,
    lastUsedAt: createdAt,
    expiresAt: after(sessionMs),
    refreshExpiresAt: after(REFRESH_TOKEN_MS),
    previousRefreshId: undefined,
    rotatedAt: undefined,
    proofRequired: false,
    scope,
  };
}

/**
 * Returns what a refresh token's id is for its session: the next one, the one before within the time for
 * retries, or one that was used before.
 */
export function judgeRefresh(session: Session, refreshId: string, now: Date): "rotate" | "repeat" | "reused" {
  if (refreshId === session.refreshId) return "rotate";
  const retry =
    refreshId === session.previousRefreshId &&
    session.rotatedAt !== undefined &&
    now.getTime() - session.rotatedAt.getTime() <= REFRESH_RETRY_MS;
  return retry ? "repeat" : "reused";
}

/** Returns the session after its refresh token was used. */
export function rotate(session: Session, nextId: string, now: Date): Session {
  const expiry = Math.min(now.getTime() + REFRESH_TOKEN_MS, session.expiresAt.getTime());
  return {
    ...session,
    previousRefreshId: session.refreshId,
    refreshId: nextId,
    rotatedAt: now,
    lastUsedAt: now,
    refreshExpiresAt: new Date(expiry),
  };
}

/** Returns whether a session's first refresh token was used, or can no longer be. */
export const isUsed = (session: Session, now: Date): boolean =>
  session.previousRefreshId !== undefined || now >= session.refreshExpiresAt;

/** The request for a session whose copies may arrive late. */
export interface SessionRequest {
  /** When it was first made. */
  readonly at: Date;
  /** The session that it was made with: to be replaced, however young. */
  readonly bySession: string | undefined;
}

export interface SessionStore {
  /**
   * Begins a session and, in the same commit, ends the one that the same device had of the same app. Where
   * the session had begun before, changes nothing and returns it; undefined where it has ended. Changes
   * nothing and returns undefined also where the device has begun another one of the app after `asked.at`.
   * Errors: PleaseRegisterKey where one of its keys is blocked or the account has left.
   */
  begin(session: Session, requestId: string, asked?: SessionRequest): Promise<Session | undefined>;
  /**
   * Runs `work`, which must not throw, with the live session locked and stores its `next`. Undefined where
   * there is no live session.
   */
  update<T>(
    session: { readonly id: string; readonly accountId: string },
    work: (session: Session) => { next?: Session; end?: EndCause; result: T },
    now: Date,
    requestId: string,
  ): Promise<T | undefined>;
  list(accountId: string, now: Date): Promise<Session[]>;
  /**
   * Ends live sessions of the account and returns how many. With cause `ended-by-user` those of a device
   * other than `by` stay once MAX_ENDED_BY_OTHERS of its sessions ended so within a day; those of `by` itself
   * end as `signed-out`. Errors: TimeLockContested where `which` names one that stays.
   */
  end(
    accountId: string,
    which: ({ id: string } | { allBut: string }) & { by?: PublicKey },
    cause: EndCause,
    now: Date,
    requestId: string,
  ): Promise<number>;
}
