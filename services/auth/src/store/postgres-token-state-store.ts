import { type Postgres, sql, sqlFile } from "@countersign/postgres";
import { TokenStateEntries, TokenStateSubjects } from "@countersign/proto/auth/v1/token_state.ts";
import type { PageEnd, TokenStateStore } from "../tokens/token-state-feed.ts";

/** An entry takes 89 bytes at most, and a message of gRPC 1 MiB. */
const ENTRIES_PER_PAGE = 5_000;

const readTokenState = sqlFile(new URL("../../sql/read-token-state.sql", import.meta.url), { planned: "each-time" });

/** The entries of one kind in a page. */
interface Row {
  kind: string;
  active: boolean;
  count: number;
  /** Packed entries in base64. */
  packed: string;
  /** The page's last entry. */
  end: PageEnd;
}

/** Returns rows as an encoded TokenStateEntries; empty where there are none. */
function encodeRows(rows: readonly Row[]): Buffer {
  const subjects = (kind: string, active = true): TokenStateSubjects | undefined => {
    const row = rows.find((each) => each.kind === kind && each.active === active);
    return row && TokenStateSubjects.create({ packed: Buffer.from(row.packed, "base64") });
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

  async readPage(since, after = { bucket: -1, position: 0, kind: "", subject: "" }) {
    // A row that is written while pages are read moves to a later place: it is read there, or by the next
    // read.
    const values = { since: since?.split(",") ?? null, ...after, most: ENTRIES_PER_PAGE };
    const rows = await postgres.query<Row>(readTokenState(values));
    const entries = encodeRows(rows);
    // A shorter page is the last one: entries that were written since belong to the next read.
    const count = rows.reduce((sum, row) => sum + row.count, 0);
    return count < ENTRIES_PER_PAGE ? { entries } : { entries, end: rows[0]!.end };
  },
});
