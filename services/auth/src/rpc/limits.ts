import { AppError } from "@countersign/errors";
import type { CallContext } from "@countersign/service-kit";
import type pg from "pg";
import { RateLimiterPostgres, RateLimiterRes } from "rate-limiter-flexible";

export type Limit = (call: Pick<CallContext, "clientIp">) => Promise<void>;

/** Counts in the database for all replicas. */
function createLimiter(pool: pg.Pool, name: string, points: number, seconds: number) {
  const limiter = new RateLimiterPostgres({
    storeClient: pool,
    storeType: "pool",
    tableName: "rate_limit",
    tableCreated: true,
    clearExpiredByTimeout: false,
    keyPrefix: name,
    points,
    duration: seconds,
  });
  return async (key: string): Promise<void> => {
    try {
      await limiter.consume(key);
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error;
      throw new AppError("RateLimited", { retryAfterSeconds: Math.max(1, Math.ceil(error.msBeforeNext / 1000)) });
    }
  };
}

/** A limit per client address and minute. Errors: RateLimited. */
export function createLimit(pool: pg.Pool, name: string, perMinute: number): Limit {
  const consume = createLimiter(pool, name, perMinute, 60);
  return ({ clientIp = "unknown" }) => consume(clientIp);
}

/** Once a second for each id. Errors: RateLimited. */
export const createPollLimit = (pool: pg.Pool, name: string) => createLimiter(pool, name, 1, 1);
