import type { Socket } from "node:net";
import pg from "pg";

export interface Timeouts {
  /** Milliseconds to wait for a connection. Default 5,000. */
  connectMs?: number;
  /** Milliseconds after which Postgres cancels a statement. Default 10,000. */
  statementMs?: number;
  /** Milliseconds to wait for the next byte of a server that not even cancels a statement. Default 12,000. */
  queryMs?: number;
}

export interface PoolOptions {
  /** The most connections. Default 5. */
  connections?: number;
  /** The name that Postgres lists the connections under. Default "countersign". */
  applicationName?: string;
  timeouts?: Timeouts;
  /** Called with the seconds that work has waited for a connection, where none was free. */
  onWait?(seconds: number): void;
  /** Called when an idle connection breaks; the next query opens a new one. */
  onError?(error: unknown): void;
}

/**
 * Creates a connection pool. A server that fails silently (a dead machine or network, a stopped process)
 * sends nothing, and TCP waits for about 15 minutes. Each wait therefore has a timeout, after which the
 * caller gets Unavailable.
 */
export function createPool(databaseUrl: string, pool: PoolOptions = {}): pg.Pool {
  const { connections = 5, applicationName = "countersign", onWait, onError = () => undefined } = pool;
  const { connectMs = 5_000, statementMs = 10_000, queryMs = 12_000 } = pool.timeouts ?? {};
  const created = new pg.Pool({
    connectionString: databaseUrl,
    max: connections,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    statement_timeout: statementMs,
    // A client that hangs inside a transaction holds its locks for at most this long.
    idle_in_transaction_session_timeout: 30_000,
    application_name: applicationName,
  });
  created.on("error", onError);
  if (onWait !== undefined) observeWaits(created, onWait);
  created.on("connect", (client) => {
    // Between being taken from the pool and its first query nobody else listens, and an error without a
    // listener ends the process. The client's next query fails.
    client.on("error", () => undefined);
    closeWhenSilent(client, queryMs);
  });
  return created;
}

type Connect = Parameters<pg.Pool["connect"]>[0];

/** Times what has to wait for a connection that other work uses. */
function observeWaits(pool: pg.Pool, onWait: (seconds: number) => void): void {
  const connect = pool.connect.bind(pool) as (callback?: Connect) => Promise<pg.PoolClient>;
  pool.connect = ((callback?: Connect) => {
    const free = pool.idleCount + pool.options.max - pool.totalCount;
    if (pool.waitingCount < free) return connect(callback);
    const started = performance.now();
    const end = () => onWait((performance.now() - started) / 1_000);
    if (callback === undefined) return connect().finally(end);
    return connect((...args) => {
      end();
      callback(...args);
    });
  }) as typeof pool.connect;
}

/**
 * Closes the connection when a query has had no byte of an answer for `queryMs`; its queries then fail. pg's
 * own `query_timeout` keeps such a connection: the next query, a transaction's ROLLBACK or the query of the
 * next borrower, then waits behind the answer that never comes.
 */
function closeWhenSilent(client: pg.PoolClient, queryMs: number): void {
  const stream = client.connection.stream as Socket;
  // With a callback the timer would call it once, and a connection that was idle would lose its time limit.
  stream.setTimeout(queryMs);
  stream.on("timeout", () => {
    const { readyForQuery } = client as unknown as { readyForQuery: boolean };
    if (!readyForQuery) stream.destroy(new Error("Query read timeout"));
  });
}
