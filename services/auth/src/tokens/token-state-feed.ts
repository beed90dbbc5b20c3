import { type Clock, type Logger, sleepUntil } from "@countersign/core";
import type { TokenKey, WatchRequest, WatchResponse } from "@countersign/proto/auth/v1/token_state.ts";
import type { TokenKeys } from "./token-keys.ts";

/** Reads what was taken away. A cursor is the positions of all buckets, and when they were read. */
export interface TokenStateStore {
  /**
   * Returns the last position of each bucket, 256 of them by commas. Everything that was committed before has
   * these positions or earlier ones; everything that commits later has later ones.
   */
  readPositions(): Promise<string>;
  /**
   * The page after `after` of the entries that have a later position than their bucket has in `since`.
   * `since` undefined: of all that are active, and accounts whose freeze was lifted.
   */
  readPage(since: string | undefined, after: PageEnd | undefined): Promise<Page>;
}

/** Entries that fit into one message. */
interface Page {
  /** An encoded TokenStateEntries, or empty. */
  readonly entries: Buffer;
  /** Where the next page begins; absent in the last one. */
  readonly end?: PageEnd;
}
export interface PageEnd {
  readonly bucket: number;
  readonly position: number;
  readonly kind: string;
  readonly subject: string;
}

/** A read of the database, which all watchers share. */
interface Read {
  readonly number: number;
  /** Milliseconds of a monotonic clock. */
  readonly at: number;
  /** Read before all pages: an entry that they miss has a later position. */
  readonly positions: string;
  readonly cursor: string;
  readonly tokenKeys: TokenKey[];
  /** The changes since positions; undefined for positions that the database has not reached. */
  readonly changes: Map<string, AsyncIterable<Buffer> | [] | undefined>;
}

/** A cursor older than this gets the whole state: lifted entries are kept for longer, then forgotten. */
const MAX_CURSOR_AGE_MS = 30 * 60_000;
/** Watchers that come within this time share the pages of the whole state: services that start together. */
const SHARE_WHOLE_MS = 60_000;
const HEARTBEAT_MS = 1_000;
/** A change reaches all watchers within this time and that of a read. */
const POLL_MS = 250;
/** Watchers that come within this time share a read. */
const MIN_READ_INTERVAL_MS = 20;

const NO_ENTRIES = Buffer.alloc(0);

const formatCursor = (positions: string, now: Date): string => `${positions}.${now.getTime()}`;

function parseCursor(cursor: string, now: Date): string | undefined {
  const match = /^(\d{1,18}(?:,\d{1,18}){255})\.(\d{1,15})$/.exec(cursor);
  if (!match || now.getTime() - Number(match[2]) > MAX_CURSOR_AGE_MS) return undefined;
  return match[1];
}

/** Returns whether a bucket has not reached its position in `since`: the database has lost commits. */
function isBehind(positions: string, since: string): boolean {
  const known = since.split(",");
  return positions.split(",").some((position, bucket) => Number(position) < Number(known[bucket]));
}

export interface TokenStateFeedOptions {
  readonly store: TokenStateStore;
  readonly keys: Pick<TokenKeys, "published">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The token state for those who watch it. One reader asks the database for all watchers of the process: four
 * times a second, without notifications, which would cost every commit a lock of the whole Postgres
 * instance. A heartbeat is sent only when the database has answered just now, so that a watcher never takes
 * an old state for a recent one.
 */
export function createTokenStateFeed({ store, keys, clock, logger }: TokenStateFeedOptions) {
  let latest: Read | undefined;
  let whole: { readonly at: number; readonly positions: string; readonly pages: AsyncIterable<Buffer> } | undefined;
  let started = 0;
  /** Both wake those who wait for them once, and are replaced then. */
  let joined = new AbortController();
  let published = new AbortController();

  async function read(number: number): Promise<Read> {
    const at = performance.now();
    const positions = await store.readPositions();
    const cursor = formatCursor(positions, clock.now());
    const tokenKeys = (await keys.published()).map((jwk) => ({ kid: jwk.kid!, jwkJson: JSON.stringify(jwk) }));
    return { number, at, positions, cursor, tokenKeys, changes: new Map([[positions, []]]) };
  }

  /** Returns the next read that starts after `number`; undefined after the signal. */
  async function readAfter(number: number, signal: AbortSignal): Promise<Read | undefined> {
    while (!signal.aborted) {
      if (latest && latest.number > number) return latest;
      await sleepUntil(HEARTBEAT_MS, [signal, published.signal]);
    }
  }

  /** Returns pages of which each is read once, when the first watcher needs it. */
  function readPages(since: string | undefined): AsyncIterable<Buffer> {
    const pages: Promise<Page>[] = [];
    return {
      async *[Symbol.asyncIterator]() {
        let end: PageEnd | undefined;
        for (let i = 0; i === 0 || end !== undefined; i += 1) {
          pages[i] ??= store.readPage(since, end);
          const page = await pages[i]!;
          if (page.entries.length > 0) yield page.entries;
          end = page.end;
        }
      },
    };
  }

  /**
   * Returns what a watcher lacks that has everything up to `since`: for most watchers the positions of the
   * read before. One that was slower, or comes from another replica, has others. Undefined: it has commits
   * that the database has lost.
   */
  function changesSince({ positions, changes }: Read, since: string) {
    if (!changes.has(since)) changes.set(since, isBehind(positions, since) ? undefined : readPages(since));
    return changes.get(since);
  }

  /** Yields a whole state of the last minute, and the changes up to the read. */
  async function* wholeState(read: Read): AsyncGenerator<Buffer> {
    whole ??= { at: read.at, positions: read.positions, pages: readPages(undefined) };
    const { positions, pages } = whole;
    yield* pages;
    const changes = changesSince(read, positions);
    if (changes === undefined) throw new Error("Postgres has lost commits since the whole state was read");
    yield* changes;
  }

  /** Returns whether a watcher needs this read: a new one, or all for a heartbeat or a change. */
  const isNeeded = ({ at, positions }: Read, hasJoined: boolean): boolean =>
    !latest || hasJoined || at - latest.at >= HEARTBEAT_MS || positions !== latest.positions;

  return {
    /** Reads for all watchers until the signal. */
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        const hasJoined = joined.signal.aborted;
        joined = new AbortController();
        try {
          const next = await read(++started);
          const isLost = latest !== undefined && isBehind(next.positions, latest.positions);
          if (isLost) logger.warn("Postgres has lost commits of the token state: watchers get the whole state");
          if (whole && (isLost || next.at - whole.at > SHARE_WHOLE_MS)) whole = undefined;
          if (isNeeded(next, hasJoined)) {
            latest = next;
            published.abort();
            published = new AbortController();
          }
        } catch (err) {
          logger.warn({ err }, "the token state cannot be read");
        }
        await sleepUntil(MIN_READ_INTERVAL_MS, [signal]);
        await sleepUntil(POLL_MS - MIN_READ_INTERVAL_MS, [signal, joined.signal]);
      }
    },

    async *watch({ cursor }: Pick<WatchRequest, "cursor">, signal: AbortSignal): AsyncGenerator<WatchResponse> {
      let since = parseCursor(cursor, clock.now());
      let sentKeys = "";
      /** Whether the next message says that the whole state follows. */
      let reset = since === undefined;
      // A watcher finds everything that was committed before it came in its first complete message.
      let after = started;
      joined.abort();
      for (;;) {
        const read = await readAfter(after, signal);
        if (!read) return;
        after = read.number;
        const changes = since === undefined ? undefined : changesSince(read, since);
        // Until all of the whole state has been sent, with the token keys: changes would not complete a part.
        if (changes === undefined) [since, sentKeys, reset] = [undefined, "", true];
        try {
          for await (const entries of changes ?? wholeState(read)) {
            yield { cursor: "", reset, complete: false, tokenKeys: [], entries };
            reset = false;
          }
        } catch (err) {
          logger.warn({ err }, "the token state cannot be read");
          whole = undefined;
          continue;
        }
        since = read.positions;
        // Too old for a heartbeat, because the pages took long: the next read completes them.
        if (performance.now() - read.at > HEARTBEAT_MS) continue;
        const kids = read.tokenKeys.map(({ kid }) => kid).join();
        const tokenKeys = kids === sentKeys ? [] : read.tokenKeys;
        yield { cursor: read.cursor, reset, complete: true, tokenKeys, entries: NO_ENTRIES };
        [sentKeys, reset] = [kids, false];
      }
    },
  };
}
