export type { Timeouts } from "./connections.ts";
export { groupUses } from "./group-uses.ts";
export { type GroupedWrite, groupWrites } from "./group-writes.ts";
export { type ListenOptions, listenPostgres, type PostgresListener } from "./listen.ts";
export { createPlainQueries, type PlainQueries } from "./plain-queries.ts";
export { createPool, type PoolOptions, type PostgresPool } from "./pool.ts";
export { createPrismaAdapter } from "./prisma-adapter.ts";
