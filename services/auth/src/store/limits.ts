import { AppError, isAppError } from "@countersign/core";
import { createBatcher, openPostgres, type Postgres, type Statement } from "@countersign/postgres";
import type { ServiceProcess } from "@countersign/runtime";
import { LRUCache } from "lru-cache";
import { RateLimiterPostgres, RateLimiterRes } from "rate-limiter-flexible";
import type { Limit } from "../domain/limit.ts";
import { networksOf } from "./client-networks.ts";

/** Answers the limiter, which computes with `expire`, like pg. */
async function countedRows(postgres: Postgres, statement: Statement) {
  const rows = await postgres.query<{ points: number; expire: bigint }>(statement);
  return { rows: rows.map(({ points, expire }) => ({ points, expire: Number(expire) })) };
}

/**
 * Counts in the database for all replicas. Requests of one key that come while it is being counted share the
 * next count: many behind one address would otherwise wait for one row, each for the other's flush.
 */
function createLimiter(postgres: Postgres, name: string, points: number, seconds: number) {
  const limiter = new RateLimiterPostgres({
    storeClient: { query: (statement: Statement) => countedRows(postgres, statement) },
    storeType: "pool",
    tableName: "rate_limit",
    tableCreated: true,
    clearExpiredByTimeout: false,
    keyPrefix: name,
    points,
    duration: seconds,
  });
  const count = createBatcher<undefined, AppError | undefined>(async (requests, key) => {
    const counted = await limiter.consume(key, requests.length).catch((error: unknown) => {
      if (error instanceof RateLimiterRes) return error;
      throw error;
    });
    const before = counted.consumedPoints - requests.length;
    const retryAfterSeconds = Math.max(1, Math.ceil(counted.msBeforeNext / 1000));
    return requests.map((_, i) =>
      before + i < points ? undefined : new AppError("RateLimited", { retryAfterSeconds }),
    );
  }, Number.POSITIVE_INFINITY);

  return async (key: string): Promise<void> => {
    const refused = await count(undefined, key);
    if (refused) throw refused;
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
export function createLimit(postgres: Postgres, name: string, { perMinute, wideFactor }: AddressLimit): Limit {
  const consumeOwn = createLimiter(postgres, name, perMinute, 60);
  const consumeWide = createLimiter(postgres, name, Math.ceil(perMinute * wideFactor), 60);
  const refusedUntil = new LRUCache<string, number>({ max: MAX_REFUSED });

  /** Rejects a /48 over its limit before a row is written: else each of its /64s would get one. */
  function requireNotRefused(wide: string): void {
    const leftMs = (refusedUntil.get(wide) ?? 0) - Date.now();
    if (leftMs > 0) throw new AppError("RateLimited", { retryAfterSeconds: Math.ceil(leftMs / 1000) });
    refusedUntil.delete(wide);
  }

  return async ({ clientIp }) => {
    const { own, wide } = networksOf(clientIp);
    if (wide === undefined) return consumeOwn(own);
    requireNotRefused(wide);
    await consumeOwn(own);
    await consumeWide(wide).catch((error: unknown) => {
      if (isAppError(error, "RateLimited")) {
        refusedUntil.set(wide, Date.now() + (error.retryAfterSeconds ?? 1) * 1000);
      }
      throw error;
    });
  };
}

/** Permits one call a second for each id. Errors: RateLimited. */
export const createPollLimit = (postgres: Postgres, name: string) => createLimiter(postgres, name, 1, 1);

type LimitName = "signUp" | "challenge" | "respond" | "twoFactor" | "refresh";

/** Opens the limits of auth's operations; their connections close with the process. */
export function openLimits(
  databaseUrl: string,
  limits: Readonly<Record<LimitName, AddressLimit>>,
  { logger, onClose }: Pick<ServiceProcess, "logger" | "onClose">,
) {
  // Counts may be lost with the machine; waiting for the disk would cost each request more than the count is
  // worth.
  const postgres = openPostgres(databaseUrl, {
    connections: 2,
    applicationName: "limits",
    options: "-c synchronous_commit=off",
    onError: (err) => logger.warn({ err }, "Postgres connection lost"),
  });
  onClose("limits", () => postgres.close());
  return {
    signUp: createLimit(postgres, "sign-up", limits.signUp),
    challenge: createLimit(postgres, "challenge", limits.challenge),
    respond: createLimit(postgres, "respond", limits.respond),
    twoFactor: createLimit(postgres, "two-factor", limits.twoFactor),
    refresh: createLimit(postgres, "refresh", limits.refresh),
    polls: createPollLimit(postgres, "two-factor-poll"),
  };
}
