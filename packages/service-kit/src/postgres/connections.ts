import pg from "pg";

// How pg says that a query had no answer within query_timeout.
const UNANSWERED = "Query read timeout";

/**
 * A connection that ends with the first query that has no answer in time. pg itself keeps it, and whatever is asked next, a transaction's ROLLBACK or the next
 * borrower's query, waits behind the answer that never comes.
 */
class MortalClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config);
    const ask = this.query.bind(this) as (...args: unknown[]) => unknown;
    const watched = (...args: unknown[]) => {
      const answer = ask(...args);
      if (!(answer instanceof Promise)) return answer;
      return answer.catch((error: unknown) => {
        if ((error as Error).message === UNANSWERED) void this.end();
        throw error;
      });
    };
    this.query = watched as typeof this.query;
  }
}

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
    Client: MortalClient,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    statement_timeout: statementMs,
    query_timeout: queryMs,
    // Whoever stands still in a transaction holds no locks for longer than this.
    idle_in_transaction_session_timeout: 30_000,
    application_name: "countersign",
  };
}
