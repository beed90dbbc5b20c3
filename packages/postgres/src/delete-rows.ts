import { isDistributed, type Queries } from "./postgres.ts";
import { primaryKeyOf } from "./primary-key.ts";
import type { Statement } from "./statement.ts";

/** Deletes at most so many rows; returns how many it deleted. */
export type DeleteBatch = (limit: number) => Promise<number>;

/** Few enough that a statement is far from its time limit and holds its locks for a moment only. */
const ROWS_PER_BATCH = 1_000;
const SLICE_MS = 5_000;

/**
 * Returns the deletion of those rows of a table that `condition` selects, which ends with an ORDER BY that an
 * index serves. Rows that another transaction has locked are left for the next time. The table's name is part
 * of the statement: never an input.
 */
export function deletionOf(queries: Queries, table: string, condition: Statement): DeleteBatch {
  const { values } = condition;
  const limited = values.length + 1;
  // By ctid: joined by the key, the planner may read the whole table while its statistics are old.
  const text = `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM ${table} WHERE ${condition.text} LIMIT $${limited} FOR UPDATE SKIP LOCKED))`;
  return async (limit) => {
    if (await isDistributed(queries)) return deleteDistributed(queries, table, condition, limit);
    return queries.execute({ name: `delete ${condition.name}`, text, values: [...values, limit] });
  };
}

/**
 * Deletes on a database of several nodes, where a statement over shards can neither skip locked rows nor stop
 * after some, and no row has a ctid for all shards: deletes those that it has read, by their primary key.
 */
async function deleteDistributed(queries: Queries, table: string, { name, text, values }: Statement, limit: number) {
  const key = await primaryKeyOf(queries, table);
  const columns = key.map((column) => column.name);
  const limited = values.length + 1;
  const rows = await queries.query<Record<string, string>>({
    name: `first ${name}`,
    text: `SELECT ${columns.map((each) => `${each}::text`)} FROM ${table} WHERE ${text} LIMIT $${limited}`,
    values: [...values, limit],
  });
  if (rows.length === 0) return 0;
  const [, filter] = /^([\s\S]*) ORDER BY \w+$/.exec(text.trim())!;
  const lists = key.map(({ type }, i) => `$${limited + i}::text[]::${type}[]`);
  return queries.execute({
    name: `distributed ${name}`,
    text: `DELETE FROM ${table} WHERE ${filter} AND (${columns}) IN (SELECT * FROM unnest(${lists}))`,
    values: [...values, ...columns.map((column) => rows.map((row) => row[column]))],
  });
}

/** Repeats a deletion until it finds no more rows; yields how many rows it deleted each time. */
export async function* deleteBatches(deleteBatch: DeleteBatch): AsyncGenerator<number> {
  let count = ROWS_PER_BATCH;
  while (count >= ROWS_PER_BATCH) {
    count = await deleteBatch(ROWS_PER_BATCH);
    yield count;
  }
}

/**
 * Repeats each deletion until it finds no more rows, or until the time slice is over: then each has had one
 * batch at least. Returns whether rows may be left. Any number of replicas may delete at once. Errors: the
 * first one, after the other deletions have run.
 */
export async function deleteInBatches(deletions: readonly DeleteBatch[]): Promise<boolean> {
  const end = performance.now() + SLICE_MS;
  let isMore = false;
  const errors: unknown[] = [];
  for (const deleteBatch of deletions) {
    try {
      for await (const count of deleteBatches(deleteBatch)) {
        if (performance.now() < end) continue;
        isMore ||= count >= ROWS_PER_BATCH;
        break;
      }
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
  return isMore;
}
