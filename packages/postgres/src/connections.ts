import type pg from "pg";
import { mortalClient } from "./mortal-client.ts";

export interface Patience {
  /** Milliseconds until a connection is given up that cannot be had. Default 5,000. */
  connectMs?: number;
  /** Milliseconds after which Postgres ends a statement. Default 10,000. */
  statementMs?: number;
  /** Milliseconds until a server is given up that does not answer, not even that. Default 12,000. */
  queryMs?: number;
}

/**
 * What every pool of connections to Postgres is made with. A server that is gone without a word (a machine or a network that died, a process that stands still) answers
 * nothing, and TCP waits a quarter of an hour: each wait has an end of its own, after which callers hear Unavailable.
 */
export function connectionSettings(databaseUrl: string, patience: Patience = {}): pg.PoolConfig {
  const { connectMs = 5_000, statementMs = 10_000, queryMs = 12_000 } = patience;
  return {
    connectionString: databaseUrl,
    Client: mortalClient(queryMs),
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    statement_timeout: statementMs,
    // Whoever stands still in a transaction holds no locks for longer than this.
    idle_in_transaction_session_timeout: 30_000,
    application_name: "countersign",
  };
}
