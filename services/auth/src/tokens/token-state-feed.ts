import { type Clock, type Logger, sleepUntil } from "@countersign/core";
import type { TokenKey, TokenStateEntry, WatchResponse } from "@countersign/proto/auth/v1/token_state.ts";
import type { TokenKeys } from "./token-keys.ts";

/** Reads what was taken away; see docs/sessions.md for the cursor. */
export interface TokenStateStore {
  /** The oldest transaction that is still running. Everything older is visible to later reads. */
  horizon(): Promise<bigint>;
  /** Entries that a transaction of this number or a later one wrote; `undefined`: all that are active. */
  changedSince(horizon: bigint | undefined): Promise<TokenStateEntry[]>;
}

/** A cursor older than this gets the whole state: lifted entries are kept for longer, then forgotten. */
const MAX_CURSOR_AGE_MS = 30 * 60_000;
const HEARTBEAT_MS = 1_000;

const formatCursor = (horizon: bigint, now: Date): string => `${horizon}.${now.getTime()}`;

function parseCursor(cursor: string, now: Date): bigint | undefined {
  const match = /^(\d{1,20})\.(\d{1,15})$/.exec(cursor);
  if (!match || now.getTime() - Number(match[2]) > MAX_CURSOR_AGE_MS) return undefined;
  return BigInt(match[1]!);
}

export interface TokenStateFeedOptions {
  readonly store: TokenStateStore;
  readonly keys: TokenKeys;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Serves the token state to watchers. Each watcher reads for itself, woken by the database's
 * notifications and once a second; a heartbeat is sent only when the database has answered just now, so that
 * a watcher never takes an old state for a young one.
 */
export function createTokenStateFeed({ store, keys, clock, logger }: TokenStateFeedOptions) {
  const waiting = new Set<AbortController>();

  async function pause(signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    waiting.add(woken);
    await sleepUntil(HEARTBEAT_MS, [signal, woken.signal]);
    waiting.delete(woken);
  }

  async function publishedKeys(): Promise<TokenKey[]> {
    return (await keys.published()).map((jwk) => ({ kid: jwk.kid!, jwkJson: JSON.stringify(jwk) }));
  }

  return {
    /** Something may have changed. */
    notify(): void {
      for (const waiter of waiting) waiter.abort();
    },

    async *watch(cursor: string, signal: AbortSignal): AsyncGenerator<WatchResponse> {
      let since = parseCursor(cursor, clock.now());
      let sentKeys = "";
      while (!signal.aborted) {
        let message: WatchResponse | undefined;
        try {
          const horizon = await store.horizon();
          const [entries, tokenKeys] = await Promise.all([store.changedSince(since), publishedKeys()]);
          const kids = tokenKeys.map(({ kid }) => kid).join();
          message = {
            cursor: formatCursor(horizon, clock.now()),
            reset: since === undefined,
            complete: true,
            tokenKeys: kids === sentKeys ? [] : tokenKeys,
            entries,
          };
          sentKeys = kids;
          since = horizon;
        } catch (err) {
          logger.warn({ err }, "the token state cannot be read");
        }
        if (message) yield message;
        await pause(signal);
      }
    },
  };
}
export type TokenStateFeed = ReturnType<typeof createTokenStateFeed>;
