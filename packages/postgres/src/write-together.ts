import { createBatcher } from "@countersign/core";
import type { Postgres } from "./postgres.ts";
import { columnsOf, type StatementOf, type Value } from "./statement.ts";

/** A change of an account's rows, with the id of the event that says so. */
export type Change = Readonly<Record<string, Value>> & { readonly accountId: string; readonly eventId: string };

export interface Writing {
  /** Writes one change with its event, or nothing. Its parameters are the change's members. */
  readonly one: StatementOf;
  /**
   * Writes changes of many accounts; its parameters are the columns of the changes. Returns the event's id of
   * each that it has written, as `id`. It may leave changes out.
   */
  readonly many: StatementOf;
}

/** Whether Postgres refused a value or a row: SQLSTATE of the classes 22 and 23. */
const isRefusal = (error: unknown): boolean => /^2[23]/.test(String((error as { code?: unknown }).code));

/**
 * Returns a function that writes a change, and says whether something was written. Changes that wait share
 * `many`: the sign-ups of one creation come together. Those that it leaves out, and all where Postgres
 * refuses one of them, are written by `one` each, and hold up no other. On a database of several nodes all
 * are: each statement is about one account.
 */
export function writeTogether(postgres: Postgres, { one, many }: Writing): (change: Change) => Promise<boolean> {
  const alone = async (change: Change): Promise<boolean> => (await postgres.execute(one(change))) === 1;
  const writeMany = async (changes: readonly Change[]): Promise<ReadonlySet<string>> => {
    try {
      const events = await postgres.query<{ id: string }>(many(columnsOf(changes)));
      return new Set(events.map(({ id }) => id));
    } catch (error) {
      if (isRefusal(error)) return new Set();
      throw error;
    }
  };
  const together = createBatcher(async (changes: readonly Change[]): Promise<(boolean | Promise<boolean>)[]> => {
    const written = await writeMany(changes);
    // A promise for one that was left out: its caller waits, the batch does not.
    return changes.map((change) => written.has(change.eventId) || alone(change));
  });
  return async (change) => ((await postgres.isDistributed()) ? alone(change) : together(change));
}
