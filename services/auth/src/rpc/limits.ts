import { AppError } from "@countersign/errors";
import type { CallContext, PostgresPool } from "@countersign/service-kit";
import { RateLimiterPostgres, RateLimiterRes } from "rate-limiter-flexible";

export type Limit = (call: Pick<CallContext, "clientIp">) => Promise<void>;

interface Waiting {
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Counts in the database for all replicas. Requests of one key that come while it is being counted share the next count: many behind one address would
 * otherwise wait for one row, each for the other's flush.
 */
function createLimiter(pool: PostgresPool, name: string, points: number, seconds: number) {
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
  const queues = new Map<string, Waiting[]>();

  async function count(key: string, batch: readonly Waiting[]): Promise<void> {
    const counted = await limiter.consume(key, batch.length).catch((error: unknown) => {
      if (error instanceof RateLimiterRes) return error;
      throw error;
    });
    const before = counted.consumedPoints - batch.length;
    const retryAfterSeconds = Math.max(1, Math.ceil(counted.msBeforeNext / 1000));
    for (const [index, { resolve, reject }] of batch.entries()) {
      if (before + index < points) resolve();
      else reject(new AppError("RateLimited", { retryAfterSeconds }));
    }
  }

  async function drain(key: string, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.splice(0);
      try {
        await count(key, batch);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    queues.delete(key);
  }

  return (key: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const queue = queues.get(key);
      if (queue) return void queue.push({ resolve, reject });
      const fresh = [{ resolve, reject }];
      queues.set(key, fresh);
      void drain(key, fresh);
    });
}

/** A limit per client address and minute. Errors: RateLimited. */
export function createLimit(pool: PostgresPool, name: string, perMinute: number): Limit {
  const consume = createLimiter(pool, name, perMinute, 60);
  return ({ clientIp = "unknown" }) => consume(clientIp);
}

/** Once a second for each id. Errors: RateLimited. */
export const createPollLimit = (pool: PostgresPool, name: string) => createLimiter(pool, name, 1, 1);
