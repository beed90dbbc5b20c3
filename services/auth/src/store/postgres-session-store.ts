import { AppError } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import { type Postgres, type Queries, queriesIn, sql, sqlFile } from "@countersign/postgres";
import {
  ACCESS_TOKEN_MS,
  type EndCause,
  REFRESH_RETRY_MS,
  type Session,
  type SessionStore,
} from "../domain/sessions/session.ts";
import { publishSessionEnded, sessionCreatedRow, sessionReplacedRow } from "./events.ts";
import type { PrismaClient } from "./generated/client.ts";
import { type SessionRow, toSession } from "./rows.ts";

/** Clocks of other services may be behind ours. */
const SKEW_MS = 60_000;

/** A session that was last refreshed longer ago has no access token that is still good. */
const LAST_TOKEN_MS = REFRESH_RETRY_MS + ACCESS_TOKEN_MS + SKEW_MS;

/**
 * Returns until when services must know that a session has ended: its last access token has expired by then.
 */
const endedUntil = (now: Date): Date => new Date(now.getTime() + ACCESS_TOKEN_MS + SKEW_MS);

/** Locks an account's sessions: beginning and ending them come one after the other. */
export async function lockAccess(tx: Queries, accountId: string): Promise<void> {
  await tx.execute(sql`SELECT pg_advisory_xact_lock(hashtextextended(${`access/${accountId}`}, 0))`);
}

/** Names a key in the table of blocked keys. */
export const blockedKeySubject = (accountId: string, { algorithm, publicKey }: PublicKey): string =>
  `${accountId}/${algorithm}/${publicKey}`;

const insertSessionStatement = sqlFile(new URL("../../sql/insert-session.sql", import.meta.url));

/**
 * Writes a session and its event, and ends the live session that the same device has of the same app. One
 * statement after the lock: every sign-in passes here. Errors: PleaseRegisterKey where one of its keys was
 * blocked meanwhile.
 */
export async function insertSession(tx: Queries, session: Session, requestId: string): Promise<void> {
  const { id, accountId, app, deviceKey, accountKey, authTime, createdAt, lastUsedAt, expiresAt } = session;
  const { refreshId, refreshExpiresAt, proofRequired, scope } = session;
  await lockAccess(tx, accountId);
  const ended = sessionReplacedRow(session, requestId);
  const created = sessionCreatedRow(session, requestId);
  const written = await tx.execute(
    insertSessionStatement({
      id,
      accountId,
      appId: app.appId,
      appName: app.appName,
      deviceKey: deviceKey.publicKey,
      deviceKeyAlgorithm: deviceKey.algorithm,
      accountKey: accountKey.publicKey,
      accountKeyAlgorithm: accountKey.algorithm,
      keys: [deviceKey, accountKey].map((key) => blockedKeySubject(accountId, key)),
      authTime: authTime ?? null,
      createdAt,
      lastUsedAt,
      expiresAt,
      refreshId,
      refreshExpiresAt,
      proofRequired,
      scope,
      endedUntil: endedUntil(createdAt),
      tokenSince: new Date(createdAt.getTime() - LAST_TOKEN_MS),
      endedEventId: ended.id,
      endedSubject: ended.subject,
      endedBeforeId: ended.beforeId,
      endedAfterId: ended.afterId,
      createdEventId: created.id,
      createdSubject: created.subject,
      createdPayload: created.payload,
    }),
  );
  if (written === 0) throw new AppError("PleaseRegisterKey");
}

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
    VALUES ('session', ${session.id}, true, ${endedUntil(now)}, pg_current_xact_id()::text::bigint)
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
    begin: (session, requestId) => postgres.transaction((tx) => insertSession(tx, session, requestId)),

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
