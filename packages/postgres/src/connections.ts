import type pg from "pg";
import { clientWithQueryTimeout } from "./client-with-query-timeout.ts";

export interface Timeouts {
  /** Milliseconds to wait for a connection. Default 5,000. */
  connectMs?: number;
  /** Milliseconds after which Postgres cancels a statement. Default 10,000. */
  statementMs?: number;
  /** Milliseconds to wait for a server that answers nothing, not even a cancellation. Default 12,000. */
  queryMs?: number;
}

/**
 * Returns the settings of every Postgres connection pool. A server that fails silently (a dead machine or
 * network, a stopped process) sends nothing, and TCP waits for about 15 minutes. Each wait therefore has a
 * timeout, after which the caller gets Unavailable.
 */
export function connectionSettings(databaseUrl: string, timeouts: Timeouts = {}): pg.PoolConfig {
  const { connectMs = 5_000, statementMs = 10_000, queryMs = 12_000 } = timeouts;
  return {
    connectionString: databaseUrl,
    Client: clientWithQueryTimeout(queryMs),
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    statement_timeout: statementMs,
    // A client that hangs inside a transaction holds its locks for at most this long.
    idle_in_transaction_session_timeout: 30_000,
    application_name: "countersign",
  };
}
