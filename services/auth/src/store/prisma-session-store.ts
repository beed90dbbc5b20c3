import { AppError } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import {
  ACCESS_TOKEN_MS,
  type EndCause,
  REFRESH_RETRY_MS,
  type Session,
  type SessionStore,
} from "../domain/sessions/session.ts";
import { publishSessionEnded, sessionCreatedRow, sessionReplacedRow } from "./events.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";
import { toSession, toSessionRow } from "./rows.ts";

type Tx = Prisma.TransactionClient;

/** Clocks of other services may be behind ours. */
const SKEW_MS = 60_000;

/** A session that was last refreshed longer ago has no access token that is still good. */
const LAST_TOKEN_MS = REFRESH_RETRY_MS + ACCESS_TOKEN_MS + SKEW_MS;

/** Until when services must know that a session has ended: its last access token has expired by then. */
const endedUntil = (now: Date): Date => new Date(now.getTime() + ACCESS_TOKEN_MS + SKEW_MS);

/** Sessions of an account and what takes them away come one after the other. */
export async function lockAccess(tx: Tx, accountId: string): Promise<void> {
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`access/${accountId}`}, 0))`;
}

/** Names a key in the table of blocked keys. */
export const blockedKeySubject = (accountId: string, { algorithm, publicKey }: PublicKey): string =>
  `${accountId}/${algorithm}/${publicKey}`;

/**
 * Writes a session and its event, and ends the live session that the same device has of the same app. One
 * statement after the lock, in plain SQL: every sign-in passes here. Errors: PleaseRegisterKey where one of
 * its keys was blocked meanwhile.
 */
export async function insertSession(tx: Tx, session: Session, requestId: string): Promise<void> {
  const { id, accountId, app, deviceKey, accountKey, authTime, createdAt, lastUsedAt, expiresAt } = session;
  await lockAccess(tx, accountId);
  const keys = [deviceKey, accountKey].map((key) => blockedKeySubject(accountId, key));
  const ended = sessionReplacedRow(session, requestId);
  const created = sessionCreatedRow(session, requestId);
  const before = (ms: number) => new Date(createdAt.getTime() - ms);
  const written = await tx.$executeRaw`
    WITH free AS (
      SELECT 1 WHERE NOT EXISTS (
        SELECT 1 FROM token_state_entry WHERE kind = 'key' AND subject = ANY(${keys}::text[]) AND active
          AND (until IS NULL OR until > ${createdAt}::timestamptz))),
    replaced AS (
      UPDATE session SET ended_at = ${createdAt}::timestamptz, ended_cause = 'replaced' FROM free
      WHERE account_id = ${accountId}::uuid AND app_id = ${app.appId} AND device_key = ${deviceKey.publicKey}
        AND device_key_algorithm = ${deviceKey.algorithm} AND ended_at IS NULL
      RETURNING id, last_used_at),
    -- Without a notification: every watcher reads once a second anyway, and so would read for every sign-in.
    taken AS (
      INSERT INTO token_state_entry (kind, subject, active, until, txid)
      SELECT 'session', id::text, true, ${endedUntil(createdAt)}::timestamptz, pg_current_xact_id()::text::bigint FROM replaced
      WHERE last_used_at > ${before(LAST_TOKEN_MS)}::timestamptz
      ON CONFLICT (kind, subject) DO UPDATE SET active = true, until = EXCLUDED.until, txid = EXCLUDED.txid),
    begun AS (
      INSERT INTO session (id, account_id, app_id, app_name, device_key_algorithm, device_key, account_key_algorithm, account_key,
        auth_time, created_at, last_used_at, expires_at, refresh_id, refresh_expires_at, proof_required, scope)
      SELECT ${id}::uuid, ${accountId}::uuid, ${app.appId}, ${app.appName}, ${deviceKey.algorithm}, ${deviceKey.publicKey},
        ${accountKey.algorithm}, ${accountKey.publicKey}, ${authTime ?? null}::timestamptz, ${createdAt}::timestamptz,
        ${lastUsedAt}::timestamptz, ${expiresAt}::timestamptz, ${session.refreshId}::uuid,
        ${session.refreshExpiresAt}::timestamptz, ${session.proofRequired}, ${session.scope}
      -- Counting makes it wait for the end of the other one: there is one live session of a device and app (unique index).
      FROM free, (SELECT count(*) FROM replaced) AS first RETURNING id)
    INSERT INTO outbox (id, subject, payload, created_at)
    SELECT ${ended.id}::uuid, ${ended.subject}, ${ended.beforeId}::bytea || convert_to(id::text, 'UTF8') || ${ended.afterId}::bytea,
      ${ended.createdAt}::timestamptz FROM replaced
    UNION ALL
    SELECT ${created.id}::uuid, ${created.subject}, ${created.payload}::bytea, ${created.createdAt}::timestamptz FROM begun`;
  if (written === 0) throw new AppError("PleaseRegisterKey");
}

/** Ends a session that is live: its row, what the services must know, and its event. */
export async function endSession(
  tx: Tx,
  session: Session,
  cause: EndCause,
  now: Date,
  requestId: string,
): Promise<boolean> {
  const { count } = await tx.session.updateMany({
    where: { id: session.id, endedAt: null },
    data: { endedAt: now, endedCause: cause },
  });
  if (count === 0) return false;
  await tx.$executeRaw`
    INSERT INTO token_state_entry (kind, subject, active, until, txid)
    VALUES ('session', ${session.id}, true, ${endedUntil(now)}, pg_current_xact_id()::text::bigint)
    ON CONFLICT (kind, subject) DO UPDATE SET active = true, until = EXCLUDED.until, txid = EXCLUDED.txid`;
  await tx.$executeRaw`SELECT pg_notify('token_state', '')`;
  await publishSessionEnded(tx, { sessionId: session.id, accountId: session.accountId, cause }, now, requestId);
  return true;
}

/** Sessions in Postgres. */
export function prismaSessionStore(prisma: PrismaClient): SessionStore {
  return {
    begin: (session, requestId) => prisma.$transaction((tx) => insertSession(tx, session, requestId)),

    update: (id, work, now, requestId) =>
      prisma.$transaction(async (tx) => {
        await tx.$executeRaw`SELECT 1 FROM session WHERE id = ${id}::uuid FOR UPDATE`;
        const row = await tx.session.findUnique({ where: { id, endedAt: null } });
        if (!row) return undefined;
        const session = toSession(row);
        const { next, end, result } = work(session);
        if (next) await tx.session.update({ where: { id }, data: toSessionRow(next) });
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
        for (const row of rows) if (await endSession(tx, toSession(row), cause, now, requestId)) ended += 1;
        return ended;
      }),
  };
}
