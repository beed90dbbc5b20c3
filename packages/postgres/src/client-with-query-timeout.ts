import type { Duplex } from "node:stream";
import pg from "pg";

/** The message of pg's own query timeout. */
const UNANSWERED = "Query read timeout";

type Done = (error: unknown, result?: unknown) => void;

/**
 * Whether pg would take the argument as a cursor or a query object of its own, which it answers without a
 * callback.
 */
const isSubmittable = (asked: unknown): boolean => typeof (asked as { submit?: unknown } | null)?.submit === "function";

/**
 * Returns a pg client that closes its connection when a query has no answer within `queryMs` milliseconds.
 * pg's own `query_timeout` keeps such a connection: the next query, a transaction's ROLLBACK or the query of
 * the next borrower, then waits behind the answer that never comes.
 *
 * pg's timeout also costs memory: it assigns a closure to a property of each query. V8 treats such a closure
 * as long-lived, and the texts and rows that it refers to stay in memory until the whole heap is marked
 * (docs/performance.md). For the same reason this client always passes pg a callback: pg makes no promise.
 */
export function clientWithQueryTimeout(queryMs: number): typeof pg.Client {
  return class ClientWithQueryTimeout extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super(config);
      const ask = this.query.bind(this) as (...args: unknown[]) => void;
      let isSilent = false;
      const giveUp = () => {
        isSilent = true;
        void this.end();
        // After an error without "ready for query", pg's end() sends Terminate and waits for the server.
        (this as unknown as { connection: { stream: Duplex } }).connection.stream.destroy();
      };
      const watch = (args: readonly unknown[], callback: Done): void => {
        const timer = setTimeout(giveUp, queryMs);
        const done: Done = (error, result) => {
          clearTimeout(timer);
          callback(error && isSilent ? new Error(UNANSWERED, { cause: error }) : error, result);
        };
        try {
          ask(...args, done);
        } catch (error) {
          clearTimeout(timer);
          throw error;
        }
      };
      const watched = (...args: unknown[]): unknown => {
        if (isSubmittable(args[0])) throw new TypeError("a query must be a text or a query configuration");
        const last = args.at(-1);
        if (typeof last === "function") return watch(args.slice(0, -1), last as Done);
        return new Promise((resolve, reject) => {
          watch(args.slice(0, 2), (error, result) => (error ? reject(error) : resolve(result)));
        });
      };
      this.query = watched as typeof this.query;
    }
  };
}
