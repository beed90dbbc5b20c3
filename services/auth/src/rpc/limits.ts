import { AppError } from "@countersign/errors";
import type { CallContext } from "@countersign/service-kit";
import type pg from "pg";
import { RateLimiterPostgres, RateLimiterRes } from "rate-limiter-flexible";

export type Limit = (call: Pick<CallContext, "clientIp">) => Promise<void>;

/** A limit per client address and minute, counted in the database for all replicas. Errors: RateLimited. */
export function createLimit(pool: pg.Pool, name: string, perMinute: number): Limit {
  const limiter = new RateLimiterPostgres({
    storeClient: pool,
    storeType: "pool",
    tableName: "rate_limit",
    tableCreated: true,
    clearExpiredByTimeout: false,
    keyPrefix: name,
    points: perMinute,
    duration: 60,
  });
  return async ({ clientIp = "unknown" }) => {
    try {
      await limiter.consume(clientIp);
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error;
      throw new AppError("RateLimited", { retryAfterSeconds: Math.max(1, Math.ceil(error.msBeforeNext / 1000)) });
    }
  };
}
