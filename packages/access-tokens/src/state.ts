import { createPublicKey, type KeyObject } from "node:crypto";
import { type Clock, MAX_STATE_AGE_MS } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import {
  type TokenKey,
  TokenStateEntries,
  type TokenStateSubjects,
  type WatchResponse,
} from "@countersign/proto/auth/v1/token_state.ts";
import { EntryTable } from "./entry-table.ts";
import { type Entry, fromKeyId, KEY_ID_BYTES, pack, toKeyId, UUID_BYTES, unpack } from "./packed-entry.ts";

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

/** The entries, with the end of each in milliseconds of the wall clock. Some may have ended. */
class Tables {
  readonly sessions = new EntryTable();
  readonly keys = new EntryTable(KEY_ID_BYTES);
  readonly accounts = new EntryTable();
  /** When the last freeze of an account was lifted, in the same unit. */
  readonly unfrozen = new EntryTable();
  tokenKeys = new Map<string, KeyObject>();
}

const packedOf = (subjects: TokenStateSubjects | undefined): Buffer => subjects?.packed ?? Buffer.alloc(0);

function enter(tables: Tables, entries: TokenStateEntries): void {
  tables.sessions.add(packedOf(entries.endedSessions));
  tables.keys.add(packedOf(entries.blockedKeys));
  tables.accounts.add(packedOf(entries.frozenAccounts));
  const unfrozen = packedOf(entries.unfrozenAccounts);
  tables.unfrozen.add(unfrozen);
  tables.accounts.add(pack(unpack(unfrozen, UUID_BYTES).map(({ id }) => ({ id, time: 0 }))));
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

  /** Also where the time is no number. */
  const isInEffect = ({ time }: Entry): boolean => !(time <= options.clock.now().getTime());
  const holds = (table: EntryTable, id: string): boolean => table.find(id).some(isInEffect);

  const sweep = () => {
    const now = options.clock.now().getTime();
    for (const table of [tables.sessions, tables.keys, tables.accounts]) table.removeUntil(now);
    tables.unfrozen.removeUntil(now - KEEP_UNFROZEN_MS);
  };
  let messages = 0;

  return {
    ageMs: () => monotonic() - lastComplete,
    current: () => monotonic() - lastComplete <= MAX_STATE_AGE_MS,
    tokenKey: (kid) => tables.tokenKeys.get(kid),
    keysVersion: () => version,
    resets: () => resets,
    isSessionEnded: (sessionId) => holds(tables.sessions, sessionId),
    isKeyBlocked: (accountId, key) =>
      tables.keys.find(accountId).some((entry) => entry.id === toKeyId(accountId, key) && isInEffect(entry)),
    blockedKeys: (accountId) =>
      tables.keys
        .find(accountId)
        .filter(isInEffect)
        .flatMap(({ id }) => fromKeyId(id) ?? []),
    isFrozen: (accountId) => holds(tables.accounts, accountId),
    unfrozenAt(accountId) {
      const [entry] = tables.unfrozen.find(accountId);
      const from = options.clock.now().getTime() - KEEP_UNFROZEN_MS;
      return entry && entry.time > from ? new Date(entry.time) : undefined;
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
