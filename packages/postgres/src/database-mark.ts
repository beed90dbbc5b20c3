import type { Queries } from "./postgres.ts";
import { sql } from "./statement.ts";

/** The functions of Postgres that name its timeline; a database that is compatible may not have them. */
const NO_TIMELINES = new Set(["42883", "0A000"]);

/** A process that gave no sign of life for longer knows too little to approve a new timeline. */
const MAY_APPROVE_MS = 60_000;

/** Thrown where the database is at an earlier moment than the service last saw, or may be. */
export class DatabaseRestoredError extends Error {
  override readonly name = "DatabaseRestoredError";
}

const restored = (why: string) =>
  new DatabaseRestoredError(`${why}: restore it as docs/disaster-recovery.md says, or state that nothing is lost`);

/**
 * Returns the timeline of the Postgres server, which grows by one whenever a server is promoted: after a
 * restore to a moment, and after a failover. 0 where the database knows no timelines, or has one for each of
 * its nodes.
 */
async function readTimeline({ query }: Queries): Promise<number> {
  try {
    const [row] = await query<{ timeline: number }>(sql`
      SELECT CASE WHEN to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN 0
        ELSE ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int END AS timeline`);
    return row!.timeline;
  } catch (error) {
    if (NO_TIMELINES.has((error as { code?: string }).code ?? "")) return 0;
    throw error;
  }
}

/**
 * Opens a database for a service: only on the timeline that its last process saw. Returns when the database
 * was restored last. Errors: DatabaseRestoredError.
 */
export async function openDatabaseMark(postgres: Queries): Promise<{ seenAt: Date; restoredAt: Date | undefined }> {
  const timeline = await readTimeline(postgres);
  await postgres.execute(sql`
    INSERT INTO database_mark (id, timeline, seen_at) VALUES (1, ${timeline}, now()) ON CONFLICT DO NOTHING`);
  const [row] = await postgres.query<{ seen_at: Date; restored_at: Date | null }>(sql`
    UPDATE database_mark SET seen_at = greatest(seen_at, now()) WHERE id = 1 AND timeline = ${timeline}
    RETURNING seen_at, restored_at`);
  if (!row) throw restored("the database is on another timeline than before: it was restored, or failed over");
  return { seenAt: row.seen_at, restoredAt: row.restored_at ?? undefined };
}

/**
 * Renews the mark for a process that runs, and returns the time of the mark. `seenAt` is the last one that
 * the process knows to be committed, `ageMs` ago: a database that has it, and that the process saw within a
 * minute, may have failed over, and processes may start on its new timeline. Errors: DatabaseRestoredError
 * otherwise.
 */
export async function renewDatabaseMark(postgres: Queries, seenAt: Date, ageMs: number): Promise<Date> {
  const timeline = await readTimeline(postgres);
  const [row] = await postgres.query<{ seen_at: Date }>(sql`
    UPDATE database_mark SET seen_at = greatest(seen_at, now()), timeline = ${timeline}
    WHERE id = 1 AND seen_at >= ${seenAt} AND (timeline = ${timeline} OR ${ageMs < MAY_APPROVE_MS}::boolean)
    RETURNING seen_at`);
  if (!row) throw restored("the database has gone back to an earlier moment while the process ran");
  return row.seen_at;
}

/** An operator's statement about a database that may have gone back. */
export interface Restore {
  /** The earliest moment that any of the five databases was restored to. */
  readonly since: Date;
  readonly by: string;
  readonly reason: string;
  /** The database went back although its timeline does not show it. */
  readonly wentBack?: boolean | undefined;
  /** After a failover that lost no commit. */
  readonly nothingLost?: boolean | undefined;
}

/**
 * Restores what a service must know besides its database, and then opens the database for its processes.
 * `work` receives whether this database went back, and returns true where it found a proof that it did; it is
 * repeated where a run fails before the end. A database that no process ever marked counts as one that went
 * back: it may be a backup from before there were marks. Errors: Error where `since` is later than the last
 * moment that a database that went back knows.
 */
export async function restoreDatabase(
  postgres: Queries,
  { since, by, reason, ...stated }: Restore,
  work: (wentBack: boolean) => Promise<unknown>,
): Promise<void> {
  const timeline = await readTimeline(postgres);
  const [mark] = await postgres.query<{ timeline: number; seen_at: Date }>(sql`
    SELECT timeline, seen_at FROM database_mark WHERE id = 1`);
  const wentBack = !stated.nothingLost && (mark?.timeline !== timeline || stated.wentBack === true);
  if (wentBack && mark && mark.seen_at < since)
    throw new Error(`the database knows nothing after ${mark.seen_at.toISOString()}: --since must not be later`);
  const isProven = (await work(wentBack)) === true;
  if (isProven && stated.nothingLost) throw new Error("--nothing-lost: something is lost, as said above");
  await postgres.execute(sql`
    INSERT INTO database_mark AS m (id, timeline, seen_at, restored_at, restored_by, restore_reason)
    VALUES (1, ${timeline}, now(), CASE WHEN ${wentBack || isProven}::boolean THEN now() END, ${by}, ${reason})
    ON CONFLICT (id) DO UPDATE SET timeline = EXCLUDED.timeline, seen_at = EXCLUDED.seen_at,
      restored_at = coalesce(EXCLUDED.restored_at, m.restored_at), restored_by = EXCLUDED.restored_by,
      restore_reason = EXCLUDED.restore_reason`);
}
