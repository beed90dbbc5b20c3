import type { Postgres } from "./postgres.ts";
import { createShardBatcher } from "./shards.ts";
import { columnsOf, type StatementOf, type Value } from "./statement.ts";

/** A change of an account's rows, with the id of the event that says so. */
export type Change = Readonly<Record<string, Value>> & { readonly accountId: string; readonly eventId: string };

export interface Writing {
  /** Writes one change with its event, or nothing. Its parameters are the change's members. */
  readonly one: StatementOf;
  /**
   * Writes changes of many accounts; its parameters are the columns of the changes. Returns the `id` of each
   * event that it has written. It may leave changes out.
   */
  readonly many: StatementOf;
}

/**
 * Returns a function that writes a change, and says whether something was written. Changes of one turn share
 * `many`: the sign-ups of one creation come together. Those that it leaves out, and all where it fails, are
 * written by `one` each, so that no change spoils the others.
 */
export function writeTogether(postgres: Postgres, { one, many }: Writing): (change: Change) => Promise<boolean> {
  const alone = async (change: Change): Promise<boolean> => (await postgres.execute(one(change))) === 1;
  const writeMany = async (changes: readonly Change[]): Promise<ReadonlySet<string>> => {
    const events = await postgres.query<{ id: string }>(many(columnsOf(changes)));
    return new Set(events.map(({ id }) => id));
  };
  const together = createShardBatcher(
    postgres,
    ({ accountId }: Change) => accountId,
    // The results are promises: the next changes do not wait for these.
    async (changes): Promise<(boolean | Promise<boolean>)[]> => {
      if (changes.length === 1) return changes.map(alone);
      const written = writeMany(changes).catch(() => new Set<string>());
      return changes.map(async (change) => (await written).has(change.eventId) || alone(change));
    },
  );
  return async (change) => together(change);
}
