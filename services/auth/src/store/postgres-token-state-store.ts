import { type Postgres, sql } from "@countersign/postgres";
import { TokenStateEntries, type TokenStateSubjects } from "@countersign/proto/auth/v1/token_state.ts";
import type { PageEnd, TokenStateStore } from "../tokens/token-state-feed.ts";

/** An entry takes 181 bytes at most, and a message of gRPC 1 MiB. */
const ENTRIES_PER_PAGE = 5_000;

interface Row extends PageEnd {
  active: boolean;
  /** Milliseconds since 1970. */
  until: number | null;
}

/** Returns rows as an encoded TokenStateEntries; empty where there are none. */
function encodeRows(rows: readonly Row[]): Buffer {
  const subjects = (kind: string, active = true): TokenStateSubjects | undefined => {
    const found = rows.filter((row) => row.kind === kind && row.active === active);
    if (found.length === 0) return undefined;
    const ids = found.map(({ subject }) => subject).join("\n");
    return { ids, until: found.map(({ until }) => until ?? Number.POSITIVE_INFINITY) };
  };
  const entries = {
    endedSessions: subjects("session"),
    blockedKeys: subjects("key"),
    frozenAccounts: subjects("account"),
    unfrozenAccounts: subjects("account", false),
  };
  return Buffer.from(TokenStateEntries.encode(entries).finish());
}

/** The token state in Postgres. */
export const postgresTokenStateStore = (postgres: Postgres): TokenStateStore => ({
  async readPositions() {
    const [row] = await postgres.query<{ positions: string }>(
      sql`SELECT string_agg(position::text, ',' ORDER BY bucket) AS positions FROM token_state_head`,
    );
    return row!.positions;
  },

  async readPage(since, { bucket, position, kind, subject } = { bucket: -1, position: 0n, kind: "", subject: "" }) {
    // A row that is written while pages are read moves to a later place: it is read there, or by the next
    // read. Freezes that were lifted belong to the whole state: what was signed before them may still run.
    const rows = await postgres.query<Row>(
      since === undefined
        ? sql`SELECT bucket, position, kind, subject, active, date_part('epoch', until) * 1000 AS until
            FROM token_state_entry
            WHERE (bucket, position, kind, subject) > (${bucket}, ${position}, ${kind}, ${subject})
              AND (active OR kind = 'account')
            ORDER BY bucket, position, kind, subject LIMIT ${ENTRIES_PER_PAGE}`
        : sql`SELECT e.* FROM unnest(string_to_array(${since}, ',')::bigint[]) WITH ORDINALITY AS s(since, number)
            JOIN token_state_head AS h ON h.bucket = s.number - 1 AND h.position > s.since
            CROSS JOIN LATERAL (
              SELECT bucket, position, kind, subject, active, date_part('epoch', until) * 1000 AS until
              FROM token_state_entry AS t
              WHERE t.bucket = h.bucket AND t.position > s.since
                AND (t.bucket, t.position, t.kind, t.subject) > (${bucket}, ${position}, ${kind}, ${subject})
              ORDER BY t.position, t.kind, t.subject LIMIT ${ENTRIES_PER_PAGE}) AS e
            ORDER BY h.bucket, e.position, e.kind, e.subject LIMIT ${ENTRIES_PER_PAGE}`,
    );
    const entries = encodeRows(rows);
    // A shorter page is the last one: entries that were written since belong to the next read.
    return rows.length < ENTRIES_PER_PAGE ? { entries } : { entries, end: rows.at(-1)! };
  },
});
