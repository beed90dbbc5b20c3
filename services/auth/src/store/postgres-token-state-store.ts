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
    // A row that changes while pages are read moves to a later page. Freezes that were lifted belong to the
    // whole state: what was signed before them may still run.
    const rows = await postgres.query<Row>(sql`
      SELECT kind, subject, active, until, txid FROM token_state_entry
      WHERE (txid, kind, subject) > (${after.txid}, ${after.kind}, ${after.subject})
        AND (${since !== undefined} OR active OR kind = 'account')
      ORDER BY txid, kind, subject LIMIT ${ENTRIES_PER_PAGE}`);
    const end = rows.at(-1);
    return end && { entries: rows.flatMap((row) => toEntry(row) ?? []), end };
  },
});
