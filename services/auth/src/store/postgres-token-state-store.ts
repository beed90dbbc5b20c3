import type { KeyAlgorithm } from "@countersign/keys";
import { type Postgres, sql } from "@countersign/postgres";
import type { TokenStateEntry } from "@countersign/proto/auth/v1/token_state.ts";
import { publicKeyToProto } from "@countersign/rpc";
import type { PageEnd, TokenStateStore } from "../tokens/token-state-feed.ts";

/** An entry takes at most about 250 bytes, and a message of gRPC 1 MiB. */
const ENTRIES_PER_PAGE = 2_000;

interface Row extends PageEnd {
  active: boolean;
  until: Date | null;
}

/** `subject` of a blocked key: account id, algorithm and key, by slashes. */
function toEntry({ kind, subject, active, until }: Row): TokenStateEntry | undefined {
  const entry = { active, until: until ?? undefined };
  if (kind === "session") return { ...entry, endedSessionId: subject };
  if (kind === "account") return { ...entry, frozenAccountId: subject };
  if (kind !== "key") return undefined;
  const [accountId = "", algorithm = "", publicKey = ""] = subject.split("/");
  const key = publicKeyToProto({ algorithm: algorithm as KeyAlgorithm, publicKey });
  return { ...entry, blockedKey: { accountId, publicKey: key } };
}

/** The token state in Postgres. */
export const postgresTokenStateStore = (postgres: Postgres): TokenStateStore => ({
  async readHorizon() {
    const [row] = await postgres.query<{ horizon: bigint }>(
      sql`SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS horizon`,
    );
    return row!.horizon;
  },

  async readPage(since, after = { txid: since ?? 0n, kind: "", subject: "" }) {
    // The whole state is read in the order of the primary key, in which no row moves while pages are read.
    // Freezes that were lifted belong to it: what was signed before them may still run.
    const rows = await postgres.query<Row>(
      since === undefined
        ? sql`SELECT kind, subject, active, until, txid FROM token_state_entry
            WHERE (kind, subject) > (${after.kind}, ${after.subject}) AND (active OR kind = 'account')
            ORDER BY kind, subject LIMIT ${ENTRIES_PER_PAGE}`
        : sql`SELECT kind, subject, active, until, txid FROM token_state_entry
            WHERE (txid, kind, subject) > (${after.txid}, ${after.kind}, ${after.subject})
            ORDER BY txid, kind, subject LIMIT ${ENTRIES_PER_PAGE}`,
    );
    const entries = rows.flatMap((row) => toEntry(row) ?? []);
    // A shorter page is the last one: entries that were written since belong to the next read.
    return rows.length < ENTRIES_PER_PAGE ? { entries } : { entries, end: rows.at(-1)! };
  },
});
