import type { Postgres } from "./postgres.ts";
import { createShardBatcher } from "./shards.ts";
import { columnsOf, type sqlFile } from "./statement.ts";

/** The first row that a service has of an account, with the event that says so. */
interface FirstRow {
  readonly accountId: string;
  readonly eventId: string;
  readonly [column: string]: unknown;
}

/**
 * Returns a function that inserts an account's first row of a kind, and says whether it was the first. The
 * sign-ups of one creation come together: rows that wait share `statement`, which returns the ids of the
 * events that it has written.
 */
export const firstInserter = (postgres: Postgres, statement: ReturnType<typeof sqlFile>) =>
  createShardBatcher(
    postgres,
    ({ accountId }: FirstRow) => accountId,
    async (rows) => {
      const written = await postgres.query<{ id: string }>(statement(columnsOf(rows)));
      const ids = new Set(written.map(({ id }) => id));
      return rows.map(({ eventId }) => ids.has(eventId));
    },
  );
