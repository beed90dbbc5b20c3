import type { Queries } from "./postgres.ts";

/** A column of a primary key. */
export interface KeyColumn {
  readonly name: string;
  readonly type: string;
}

/** Returns the columns of a table's primary key, in its order. The table's name is part of the statement. */
export const primaryKeyOf = (queries: Queries, table: string): Promise<KeyColumn[]> =>
  queries.query({
    name: `primary key of ${table}`,
    text: `SELECT attname::text AS name, format_type(atttypid, NULL) AS type FROM pg_index JOIN pg_attribute
      ON attrelid = indrelid AND attnum = ANY (indkey) WHERE indrelid = '"${table}"'::regclass AND indisprimary
      ORDER BY array_position(indkey::int2[], attnum)`,
    values: [],
  });
