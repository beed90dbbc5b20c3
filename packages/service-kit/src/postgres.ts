export { type ListenOptions, listenPostgres, type PostgresListener } from "./postgres/listen.ts";
export { createPrismaAdapter } from "./postgres/prisma-adapter.ts";
