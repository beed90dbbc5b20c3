import { AppError, type Clock, isAppError, limitPerMinute } from "@countersign/core";
import { createShardBatcher, type Postgres, type Statement, sql } from "@countersign/postgres";
import { LRUCache } from "lru-cache";
import type { Limit } from "../domain/limit.ts";
import { networksOf } from "./client-networks.ts";

/** A request to count by its key: at most `points` in each window of `seconds`. */
interface Counted {
  readonly key: string;
  readonly points: number;
  readonly seconds: number;
}

interface Row {
  key: string;
  points: number;
  /** Milliseconds since 1970. */
  expire: bigint;
}

/** Counts a request. Errors: RateLimited. */
export type Count = (request: Counted) => Promise<void>;

/** Requests of one key are one row of VALUES, which a database of several nodes sends to the key's node. */
function countStatement(requests: readonly Counted[], now: number): Statement {
  const [{ key }] = requests as [Counted];
  if (requests.every((each) => each.key === key)) {
    const seconds = Math.max(...requests.map((each) => each.seconds));
    return sql`
      INSERT INTO rate_limit AS l (key, points, expire)
      VALUES (${key}, ${requests.length}::int, ${now + 1000 * seconds}::bigint)
      ON CONFLICT (key) DO UPDATE SET
        points = EXCLUDED.points + CASE WHEN l.expire > ${now}::bigint THEN l.points ELSE 0 END,
        expire = CASE WHEN l.expire > ${now}::bigint THEN l.expire ELSE EXCLUDED.expire END
      RETURNING key, points, expire`;
  }
  // Rows are locked in the order of their keys, so that replicas do not deadlock.
  return sql`
    INSERT INTO rate_limit AS l (key, points, expire)
    SELECT key, count(*), ${now}::bigint + 1000 * max(seconds)
    FROM unnest(${requests.map((each) => each.key)}::text[], ${requests.map((each) => each.seconds)}::int[]) AS r(key, seconds)
    GROUP BY key ORDER BY key
    ON CONFLICT (key) DO UPDATE SET
      points = EXCLUDED.points + CASE WHEN l.expire > ${now}::bigint THEN l.points ELSE 0 END,
      expire = CASE WHEN l.expire > ${now}::bigint THEN l.expire ELSE EXCLUDED.expire END
    RETURNING key, points, expire`;
}

/**
 * Returns a function that counts in the database for all replicas. Requests that arrive during a statement
 * share the next one: many behind one address would otherwise wait for one row, each for the others. Errors:
 * RateLimited.
 */
export function createCounter(postgres: Postgres): Count {
  const keyOf = ({ key }: Counted) => key;
  const count = createShardBatcher(postgres, keyOf, async (requests): Promise<(AppError | undefined)[]> => {
    const now = Date.now();
    const rows = await postgres.query<Row>(countStatement(requests, now));
    const counted = new Map(rows.map((row) => [row.key, row]));
    // A row counts all requests of its key: the last one of them is the last one counted.
    const refusals = requests.toReversed().map(({ key, points }) => {
      const row = counted.get(key)!;
      const retryAfterSeconds = Math.max(1, Math.ceil((Number(row.expire) - now) / 1000));
      return row.points-- > points ? new AppError("RateLimited", { retryAfterSeconds }) : undefined;
    });
    return refusals.reverse();
  });
  return async (request) => {
    const refusal = await count(request);
    if (refusal) throw refusal;
  };
}

/** Refused /48s that a process remembers, so that their next requests write nothing. */
const MAX_REFUSED = 10_000;

export interface AddressLimit {
  /** Requests per minute of an IPv4 address, or of an IPv6 /64. */
  readonly perMinute: number;
  /** How many times as many a whole IPv6 /48 may send. */
  readonly wideFactor: number;
}

/**
 * Limits requests by client address. An IPv6 address counts in its /64, and what that may send also counts in
 * its /48: so one /64 cannot use up a /48 that others share, and a client with a whole /48 does not get a
 * limit for each of its 65,536 /64s.
 * Errors: RateLimited.
 */
export function createLimit(count: Count, name: string, { perMinute, wideFactor }: AddressLimit): Limit {
  const consume = (network: string, points: number) => count({ key: `${name}:${network}`, points, seconds: 60 });
  const refusedUntil = new LRUCache<string, number>({ max: MAX_REFUSED });

  /** Rejects a /48 over its limit before a row is written: else each of its /64s would get one. */
  function requireNotRefused(wide: string): void {
    const leftMs = (refusedUntil.get(wide) ?? 0) - Date.now();
    if (leftMs > 0) throw new AppError("RateLimited", { retryAfterSeconds: Math.ceil(leftMs / 1000) });
    refusedUntil.delete(wide);
  }

  return async ({ clientIp }) => {
    const { own, wide } = networksOf(clientIp);
    if (wide === undefined) return consume(own, perMinute);
    requireNotRefused(wide);
    await consume(own, perMinute);
    await consume(wide, Math.ceil(perMinute * wideFactor)).catch((error: unknown) => {
      if (isAppError(error, "RateLimited")) {
        refusedUntil.set(wide, Date.now() + (error.retryAfterSeconds ?? 1) * 1000);
      }
      throw error;
    });
  };
}

/** Permits one poll a second for each 2FA request. Errors: RateLimited. */
export const createPollLimit = (count: Count) => (id: string) =>
  count({ key: `two-factor-poll:${id}`, points: 1, seconds: 1 });

/** The limits of auth's operations. */
export type Limits = Readonly<Record<"signUp" | "challenge" | "respond" | "twoFactor" | "refresh", AddressLimit>> & {
  readonly signInsPerMinute: number;
  readonly unfreezesPerMinute: number;
};

/** Creates the limits of auth's operations. */
export function createLimits(
  postgres: Postgres,
  { signInsPerMinute, unfreezesPerMinute, ...limits }: Limits,
  clock: Clock,
) {
  const count = createCounter(postgres);
  const [limitSignIns, limitUnfreezes] = [limitPerMinute(clock), limitPerMinute(clock)];
  return {
    signUp: createLimit(count, "sign-up", limits.signUp),
    challenge: createLimit(count, "challenge", limits.challenge),
    respond: createLimit(count, "respond", limits.respond),
    twoFactor: createLimit(count, "two-factor", limits.twoFactor),
    refresh: createLimit(count, "refresh", limits.refresh),
    polls: createPollLimit(count),
    /** By account and key, in this process. Errors: RateLimited. */
    signIns: (id: string) => limitSignIns(id, signInsPerMinute),
    /** By account and the session's key, in this process. Errors: RateLimited. */
    unfreezes: (id: string) => limitUnfreezes(id, unfreezesPerMinute),
  };
}
