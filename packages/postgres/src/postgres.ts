import type { Watched } from "@countersign/core";
import pg from "pg";
import { createPool, type PoolOptions } from "./pool.ts";
import { adapterOn } from "./prisma-adapter.ts";
import { type Statement, sql } from "./statement.ts";

/** Runs statements: each in a transaction of its own, or all in the one that they belong to. */
export interface Queries {
  /** Returns the rows, in Prisma's types: int8 is a bigint. Errors: those of pg. */
  query<Row>(statement: Statement): Promise<Row[]>;
  /** Returns how many rows were changed. Errors: those of pg. */
  execute(statement: Statement): Promise<number>;
}

/**
 * A database, as an alternative to Prisma's client.
 *
 * Prisma is the default: its queries are checked by types. Use `Postgres` for statements that run for every
 * sign-in, refresh, signature or account read, because Prisma takes several times as long as the statement,
 * and where there is no Prisma client (outbox, rate limits). A transaction belongs to one of the two. In one
 * of Prisma's, a statement that Prisma cannot express is `tx.$queryRaw` or `tx.$executeRaw`; `queriesIn(tx)`
 * runs files and what is shared with `Postgres`. A statement of more than ten lines is a file,
 * `services/<name>/sql/<statement>.sql`, which `sqlFile` reads when the process starts. A store that uses it
 * is a `postgres-….ts`, one that has a Prisma client only a `prisma-….ts`. See ADR 48.
 */
export interface Postgres extends Queries {
  /**
   * Runs `work` in a transaction, which is committed when `work` returns and rolled back when it throws.
   * After `timeoutMs` (default 5,000) its connection is closed, so that it cannot be committed any more, and
   * Postgres ends it where this process hangs.
   */
  transaction<T>(work: (tx: Queries) => Promise<T>, timeoutMs?: number): Promise<T>;
  /**
   * Returns whether its tables are on several nodes (Citus). Then a statement names the key of one shard: see
   * docs/scaling.md.
   */
  isDistributed(): Promise<boolean>;
  /** For `new PrismaClient({ adapter })`: a client that shares the connections. */
  readonly adapter: ReturnType<typeof adapterOn>;
  /** Counts its connections, and the work that waits for one. */
  connections(): { total: number; idle: number; max: number; waiting: number };
  /** Closes all connections, also those of a Prisma client that shares them. */
  close(): Promise<void>;
}

const INT8 = 20;
const types = {
  getTypeParser: ((oid: number, format?: "text") =>
    oid === INT8 ? BigInt : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

const run = ({ name, text, values }: Statement, on: pg.Pool | pg.PoolClient) =>
  on.query({ name, text, values: values as unknown[], types });

const queriesOn = (on: pg.Pool | pg.PoolClient): Queries => ({
  query: async (statement) => (await run(statement, on)).rows,
  execute: async (statement) => (await run(statement, on)).rowCount ?? 0,
});

/** Opens a pool of connections to a database. */
export function openPostgres(databaseUrl: string | Watched<string>, options: PoolOptions = {}): Postgres {
  const pool = createPool(databaseUrl, options);
  return {
    ...queriesOn(pool),
    transaction: (work, timeoutMs = 5_000) => inTransaction(pool, work, timeoutMs),
    isDistributed: distributionOf(pool),
    adapter: adapterOn(pool),
    connections: () => ({
      total: pool.totalCount,
      idle: pool.idleCount,
      max: pool.options.max,
      waiting: pool.waitingCount,
    }),
    close: () => pool.end(),
  };
}

/** Returns whether a database has several nodes. */
export async function isDistributed({ query }: Queries): Promise<boolean> {
  const [row] = await query<{ distributed: boolean }>(sql`
    SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS distributed`);
  return row!.distributed;
}

/** Returns a function that asks a database once whether it has several nodes. */
function distributionOf(pool: pg.Pool): () => Promise<boolean> {
  let answer: Promise<boolean> | undefined;
  return () => {
    answer ??= isDistributed(queriesOn(pool)).catch((error: unknown) => {
      answer = undefined;
      throw error;
    });
    return answer;
  };
}

async function inTransaction<T>(pool: pg.Pool, work: (tx: Queries) => Promise<T>, timeoutMs: number): Promise<T> {
  const client = await pool.connect();
  // The loss of a connection fails its next query; without a listener it would also end the process.
  const onLost = () => undefined;
  client.on("error", onLost);
  let isOpen = true;
  const { query, execute } = queriesOn(client);
  // A query that `work` did not wait for must not run in the transaction of the connection's next user.
  const whileOpen = async <R>(next: () => Promise<R>): Promise<R> => {
    if (!isOpen) throw new Error("the transaction has ended");
    return next();
  };
  const end = (lost?: Error) => {
    client.off("error", onLost);
    client.release(lost);
  };
  const timer = setTimeout(() => client.connection.stream.destroy(new Error("Transaction timeout")), timeoutMs);
  try {
    // The locks of a process that hangs would hold others up for as long as the pool's limit.
    await client.query(`BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${timeoutMs}`);
    const result = await work({
      query: (statement) => whileOpen(() => query(statement)),
      execute: (statement) => whileOpen(() => execute(statement)),
    });
    isOpen = false;
    clearTimeout(timer);
    // Postgres answers ROLLBACK where a statement has failed, even if `work` caught its error.
    const { command } = await client.query("COMMIT");
    if (command !== "COMMIT") throw new Error("a statement of the transaction has failed");
    end();
    return result;
  } catch (error) {
    isOpen = false;
    clearTimeout(timer);
    await client.query("ROLLBACK").then(() => end(), end);
    throw error;
  }
}

export interface PrismaTransaction {
  $queryRawUnsafe<Rows>(text: string, ...values: unknown[]): Promise<Rows>;
  $executeRawUnsafe(text: string, ...values: unknown[]): Promise<number>;
}

/** Runs statements in a transaction of Prisma's. Errors: those of Prisma's raw queries. */
export const queriesIn = (tx: PrismaTransaction): Queries => ({
  query: ({ text, values }) => tx.$queryRawUnsafe(text, ...values),
  execute: ({ text, values }) => tx.$executeRawUnsafe(text, ...values),
});
