export type { Patience } from "./postgres/connections.ts";
export { type ListenOptions, listenPostgres, type PostgresListener } from "./postgres/listen.ts";
export { createPlainQueries, type PlainQueries } from "./postgres/plain-queries.ts";
export { createPool, type PoolOptions, type PostgresPool } from "./postgres/pool.ts";
export { createPrismaAdapter } from "./postgres/prisma-adapter.ts";
