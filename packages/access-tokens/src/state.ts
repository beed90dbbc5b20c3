import { createPublicKey, type KeyObject } from "node:crypto";
import { type Clock, MAX_STATE_AGE_MS } from "@countersign/core";
import type { KeyAlgorithm, PublicKey } from "@countersign/keys";
import {
  type TokenKey,
  TokenStateEntries,
  type TokenStateSubjects,
  type WatchResponse,
} from "@countersign/proto/auth/v1/token_state.ts";

/**
 * The state that access tokens are checked against: token keys, ended sessions, blocked keys, frozen
 * accounts.
 */
export interface TokenState {
  /** Milliseconds since the last complete message; Infinity before the first. */
  ageMs(): number;
  /** Whether the state is recent enough to accept any token. */
  current(): boolean;
  tokenKey(kid: string): KeyObject | undefined;
  /** Increases whenever the token keys change. */
  keysVersion(): number;
  isSessionEnded(sessionId: string): boolean;
  isKeyBlocked(accountId: string, key: PublicKey): boolean;
  /**
   * Returns the keys of an account whose block auth still sends; the cost does not depend on how many keys
   * are blocked in all.
   */
  blockedKeys(accountId: string): readonly PublicKey[];
  isFrozen(accountId: string): boolean;
  /** Increases whenever a whole state replaces the old one: changes in between may have been missed. */
  resets(): number;
  /** When the account's last freeze was lifted; undefined if none was lifted within about a day. */
  unfrozenAt(accountId: string): Date | undefined;
}

/**
 * A state that applies the messages of auth.v1.TokenState/Watch; in auth itself they come from its database.
 */
export interface WritableTokenState extends TokenState {
  apply(message: WatchResponse): void;
  /** The cursor to resume from; empty before the first message. */
  cursor(): string;
}

export interface TokenStateOptions {
  clock: Clock;
  /** Milliseconds of a monotonic clock: setting the wall clock must not make an old state current. */
  monotonicMs?: () => number;
  onProblem?: (error: unknown) => void;
}

/**
 * How long the end of a freeze is kept. No signature from before the freeze is valid that long: a network's
 * `referenceSeconds` are at most a day.
 */
const KEEP_UNFROZEN_MS = 25 * 3_600_000;

/** The entries in effect, with the end of each in milliseconds of the wall clock. */
class Tables {
  readonly sessions = new Map<string, number>();
  /** By account, then by algorithm and key. */
  readonly keys = new Map<string, Map<string, number>>();
  readonly accounts = new Map<string, number>();
  /** When the last freeze of an account was lifted, in the same unit. */
  readonly unfrozen = new Map<string, number>();
  tokenKeys = new Map<string, KeyObject>();
}

/** As in the token state's entries. */
const keyId = ({ algorithm, publicKey }: PublicKey): string => `${algorithm}/${publicKey}`;

function fromKeyId(id: string): PublicKey {
  const slash = id.indexOf("/");
  return { algorithm: id.slice(0, slash) as KeyAlgorithm, publicKey: id.slice(slash + 1) };
}

function forEachSubject(subjects: TokenStateSubjects | undefined, put: (id: string, until: number) => void): void {
  subjects?.ids.split("\n").forEach((id, i) => void put(id, subjects.until[i]!));
}

function enter(tables: Tables, entries: TokenStateEntries): void {
  forEachSubject(entries.endedSessions, (id, until) => tables.sessions.set(id, until));
  forEachSubject(entries.blockedKeys, (id, until) => {
    const slash = id.indexOf("/");
    const accountId = id.slice(0, slash);
    const ofAccount = tables.keys.get(accountId);
    if (ofAccount === undefined) tables.keys.set(accountId, new Map([[id.slice(slash + 1), until]]));
    else ofAccount.set(id.slice(slash + 1), until);
  });
  forEachSubject(entries.frozenAccounts, (id, until) => tables.accounts.set(id, until));
  forEachSubject(entries.unfrozenAccounts, (id, at) => {
    tables.accounts.delete(id);
    tables.unfrozen.set(id, at);
  });
}

function importKeys(keys: readonly TokenKey[], onProblem: (error: unknown) => void): Map<string, KeyObject> {
  const imported = new Map<string, KeyObject>();
  for (const { kid, jwkJson } of keys) {
    try {
      const jwk = JSON.parse(jwkJson) as { kty?: unknown; crv?: unknown; d?: unknown };
      if (jwk.kty !== "EC" || jwk.crv !== "P-256" || jwk.d !== undefined)
        throw new Error(`token key ${kid} is no public P-256 key`);
      imported.set(kid, createPublicKey({ key: jwk as Record<string, string>, format: "jwk" }));
    } catch (error) {
      onProblem(error);
    }
  }
  return imported;
}

export function createTokenState(options: TokenStateOptions): WritableTokenState {
  const monotonic = options.monotonicMs ?? (() => performance.now());
  const onProblem = options.onProblem ?? (() => undefined);
  let tables = new Tables();
  /** A complete replacement while it arrives; the old tables are used until it is complete. */
  let arriving: Tables | undefined;
  let lastComplete = Number.NEGATIVE_INFINITY;
  let version = 0;
  let resets = 0;
  let cursor = "";

  const holds = (table: Map<string, number>, key: string): boolean => {
    const until = table.get(key);
    if (until === undefined) return false;
    if (until > options.clock.now().getTime()) return true;
    table.delete(key);
    return false;
  };

  const sweep = () => {
    const now = options.clock.now().getTime();
    for (const table of [tables.sessions, tables.accounts]) {
      for (const [key, until] of table) if (until <= now) table.delete(key);
    }
    for (const [accountId, at] of tables.unfrozen) {
      if (at + KEEP_UNFROZEN_MS <= now) tables.unfrozen.delete(accountId);
    }
    for (const [accountId, ofAccount] of tables.keys) {
      for (const [key, until] of ofAccount) if (until <= now) ofAccount.delete(key);
      if (ofAccount.size === 0) tables.keys.delete(accountId);
    }
  };
  let messages = 0;

  return {
    ageMs: () => monotonic() - lastComplete,
    current: () => monotonic() - lastComplete <= MAX_STATE_AGE_MS,
    tokenKey: (kid) => tables.tokenKeys.get(kid),
    keysVersion: () => version,
    resets: () => resets,
    isSessionEnded: (sessionId) => holds(tables.sessions, sessionId),
    isKeyBlocked(accountId, key) {
      const until = tables.keys.get(accountId)?.get(keyId(key));
      return until !== undefined && until > options.clock.now().getTime();
    },
    blockedKeys(accountId) {
      const ofAccount = tables.keys.get(accountId);
      if (ofAccount === undefined) return [];
      const now = options.clock.now().getTime();
      return [...ofAccount].flatMap(([key, until]) => (until > now ? fromKeyId(key) : []));
    },
    isFrozen: (accountId) => holds(tables.accounts, accountId),
    unfrozenAt(accountId) {
      const at = tables.unfrozen.get(accountId);
      return at === undefined ? undefined : new Date(at);
    },
    // A replacement that has arrived in part is asked for again: changes alone would not complete it.
    cursor: () => (arriving === undefined ? cursor : ""),
    apply(message) {
      if (message.reset) arriving = new Tables();
      const target = arriving ?? tables;
      if (message.entries.length > 0) enter(target, TokenStateEntries.decode(message.entries));
      if (message.tokenKeys.length > 0) {
        target.tokenKeys = importKeys(message.tokenKeys, onProblem);
        version += 1;
      }
      if (!message.complete) return;
      if (arriving !== undefined) {
        tables = arriving;
        arriving = undefined;
        version += 1;
        resets += 1;
      }
      cursor = message.cursor;
      lastComplete = monotonic();
      messages += 1;
      if (messages % 256 === 0) sweep();
    },
  };
}
