import type { Duplex } from "node:stream";
import pg from "pg";

/** As pg itself says it. */
const UNANSWERED = "Query read timeout";

type Done = (error: unknown, result?: unknown) => void;

/** A cursor, or a query with listeners of its own: pg gives it back, and calls nobody. */
const isSubmittable = (asked: unknown): boolean => typeof (asked as { submit?: unknown } | null)?.submit === "function";

/**
 * Connections of which each ends with the first query that has no answer within so many milliseconds. pg's own `query_timeout` keeps such a connection, and whatever is asked next, a transaction's
 * ROLLBACK or the next borrower's query, waits behind the answer that never comes.
 *
 * Also what it costs speaks against pg's: it assigns a closure to a property of each query, V8 takes such a one for long-lived, and all that it leads to, texts and rows, stays in memory until the
 * whole heap is marked (docs/performance.md). For the same reason pg is always given a callback, and makes no promise of its own.
 */
export function mortalClient(queryMs: number): typeof pg.Client {
  return class MortalClient extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super(config);
      const ask = this.query.bind(this) as (...args: unknown[]) => void;
      let isSilent = false;
      const giveUp = () => {
        isSilent = true;
        void this.end();
        // Where an error came and "ready for query" did not, pg says goodbye and waits for an answer.
        (this as unknown as { connection: { stream: Duplex } }).connection.stream.destroy();
      };
      const watch = (args: readonly unknown[], told: Done): void => {
        const patience = setTimeout(giveUp, queryMs);
        const done: Done = (error, result) => {
          clearTimeout(patience);
          told(error && isSilent ? new Error(UNANSWERED, { cause: error }) : error, result);
        };
        try {
          ask(...args, done);
        } catch (error) {
          clearTimeout(patience);
          throw error;
        }
      };
      const watched = (...args: unknown[]): unknown => {
        if (isSubmittable(args[0])) throw new TypeError("only texts and configurations of queries are watched");
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
