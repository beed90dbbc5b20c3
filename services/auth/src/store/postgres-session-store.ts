import { type Postgres, type Queries, queriesIn, sql } from "@countersign/postgres";
import type { EndCause, Session, SessionStore } from "../domain/sessions/session.ts";
import { beginSessionIn, ENDED_MS } from "./begin-sessions.ts";
import { publishSessionEnded } from "./events.ts";
import type { PrismaClient } from "./generated/client.ts";
import { type SessionRow, toSession } from "./rows.ts";

/** Ends a session that is live: its row, what the services must know, and its event. */
export async function endSession(
  tx: Queries,
  session: Session,
  cause: EndCause,
  now: Date,
  requestId: string,
): Promise<boolean> {
  const count = await tx.execute(sql`
    UPDATE session SET ended_at = ${now}::timestamptz, ended_cause = ${cause}
    WHERE id = ${session.id}::uuid AND ended_at IS NULL`);
  if (count === 0) return false;
  await tx.execute(sql`
    INSERT INTO token_state_entry (kind, subject, active, until, txid)
    VALUES ('session', ${session.id}, true, ${new Date(now.getTime() + ENDED_MS)}, pg_current_xact_id()::text::bigint)
    ON CONFLICT (kind, subject) DO UPDATE SET active = true, until = EXCLUDED.until, txid = EXCLUDED.txid`);
  await publishSessionEnded(tx, session, cause, { now, requestId });
  return true;
}

/** Writes what a refresh may change; a session's account, app, keys and scope stay what they were. */
async function updateSession(tx: Queries, session: Session): Promise<void> {
  const { id, lastUsedAt, refreshId, refreshExpiresAt, previousRefreshId, rotatedAt, proofRequired } = session;
  await tx.execute(sql`
    UPDATE session SET last_used_at = ${lastUsedAt}, refresh_id = ${refreshId},
      refresh_expires_at = ${refreshExpiresAt}, previous_refresh_id = ${previousRefreshId ?? null},
      rotated_at = ${rotatedAt ?? null}, proof_required = ${proofRequired}
    WHERE id = ${id}`);
}

/** Keeps sessions in Postgres. Prisma is not used where every sign-in or refresh passes. */
export function postgresSessionStore(prisma: PrismaClient, postgres: Postgres): SessionStore {
  return {
    begin: (session, requestId) => postgres.transaction((tx) => beginSessionIn(tx, session, requestId)),

    update: (id, work, now, requestId) =>
      postgres.transaction(async (tx) => {
        const [row] = await tx.query<SessionRow>(sql`
          SELECT id, account_id AS "accountId", app_id AS "appId", app_name AS "appName",
            device_key_algorithm AS "deviceKeyAlgorithm", device_key AS "deviceKey",
            account_key_algorithm AS "accountKeyAlgorithm", account_key AS "accountKey", auth_time AS "authTime",
            created_at AS "createdAt", last_used_at AS "lastUsedAt", expires_at AS "expiresAt",
            refresh_id AS "refreshId", refresh_expires_at AS "refreshExpiresAt",
            previous_refresh_id AS "previousRefreshId", rotated_at AS "rotatedAt", proof_required AS "proofRequired",
            scope
          FROM session WHERE id = ${id}::uuid AND ended_at IS NULL FOR UPDATE`);
        if (!row) return undefined;
        const session = toSession(row);
        const { next, end, result } = work(session);
        if (next) await updateSession(tx, next);
        if (end) await endSession(tx, session, end, now, requestId);
        return result;
      }),

    async list(accountId, now) {
      const rows = await prisma.session.findMany({
        where: { accountId, endedAt: null, expiresAt: { gt: now }, refreshExpiresAt: { gt: now } },
        orderBy: { createdAt: "desc" },
        take: 200,
      });
      return rows.map(toSession);
    },

    end: (accountId, which, cause, now, requestId) =>
      prisma.$transaction(async (tx) => {
        const id = "id" in which ? which.id : { not: which.allBut };
        const rows = await tx.session.findMany({ where: { accountId, id, endedAt: null }, orderBy: { id: "asc" } });
        let ended = 0;
        for (const row of rows) if (await endSession(queriesIn(tx), toSession(row), cause, now, requestId)) ended += 1;
        return ended;
      }),
  };
}
