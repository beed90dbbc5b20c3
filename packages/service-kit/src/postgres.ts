export { connectionSettings, type Patience } from "./postgres/connections.ts";
export { type ListenOptions, listenPostgres, type PostgresListener } from "./postgres/listen.ts";
export { createPlainQueries, type PlainQueries } from "./postgres/plain-queries.ts";
export { createPrismaAdapter } from "./postgres/prisma-adapter.ts";
