import { AppError, activeTrace, createBatcher, DAY_MS, type TraceParent } from "@countersign/core";
import { samePublicKey } from "@countersign/keys";
import { createShardBatcher, type Postgres, type Queries, queriesIn, sql, sqlFile } from "@countersign/postgres";
import { type EndCause, MAX_ENDED_BY_OTHERS, type Session, type SessionStore } from "../domain/sessions/session.ts";
import { ENDED_MS, lockAccess, sessionBeginner } from "./begin-sessions.ts";
import { publishSessionEnded } from "./events.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";
import { type SessionRow, toSession } from "./rows.ts";
import { type TokenStateChange, writeTokenState } from "./write-token-state.ts";

/** A session that ends, and why. */
interface SessionEnd {
  readonly session: Session;
  readonly cause: EndCause;
  /** When it ended: of an event, long ago perhaps. Its tokens were issued until this moment all the same. */
  readonly now: Date;
  readonly requestId: string;
  /** Default: the work that ends it. */
  readonly trace?: TraceParent | undefined;
}

/**
 * Ends those of the sessions that are live, each with its event, and writes what the services must know: also
 * `changes`. Returns how many it ended. The last statement of its transaction that locks: see
 * `writeTokenState`.
 */
export async function endSessions(
  tx: Queries,
  ends: readonly SessionEnd[],
  changes: readonly TokenStateChange[] = [],
): Promise<number> {
  const ended: TokenStateChange[] = [];
  for (const { session, cause, now, ...request } of ends) {
    const { id, accountId } = session;
    const count = await tx.execute(sql`
      UPDATE session SET ended_at = ${now}::timestamptz, ended_cause = ${cause}
      WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid AND ended_at IS NULL`);
    if (count === 0) continue;
    await publishSessionEnded(tx, session, cause, { now, ...request });
    ended.push({ kind: "session", accountId, subject: id, forMs: ENDED_MS });
  }
  await writeTokenState(tx, [...changes, ...ended]);
  return ended.length;
}

/** A change of one session; `work` must not throw. */
interface SessionUpdate {
  readonly id: string;
  readonly accountId: string;
  readonly now: Date;
  readonly requestId: string;
  /** The request's own position: one transaction updates many sessions. */
  readonly trace: TraceParent | undefined;
  work(session: Session): { next?: Session; end?: EndCause; result: unknown };
}

/** The most updates of one transaction: one that ends its session takes two statements. */
const MAX_UPDATES = 100;

const lockSessions = sqlFile(new URL("../../sql/lock-sessions.sql", import.meta.url));

/** Writes what a refresh may change; a session's account, app, keys and scope stay what they were. */
async function writeRefreshed(tx: Queries, sessions: readonly Session[]): Promise<void> {
  const rows = sessions.map((session) => ({
    id: session.id,
    last_used_at: session.lastUsedAt,
    refresh_id: session.refreshId,
    refresh_expires_at: session.refreshExpiresAt,
    previous_refresh_id: session.previousRefreshId,
    rotated_at: session.rotatedAt,
    proof_required: session.proofRequired,
  }));
  if (rows.length === 0) return;
  const accountIds = sessions.map(({ accountId }) => accountId);
  await tx.execute(sql`
    UPDATE session AS s SET last_used_at = n.last_used_at, refresh_id = n.refresh_id,
      refresh_expires_at = n.refresh_expires_at, previous_refresh_id = n.previous_refresh_id,
      rotated_at = n.rotated_at, proof_required = n.proof_required
    FROM json_populate_recordset(NULL::session, ${JSON.stringify(rows)}::json) AS n
    WHERE s.id = n.id AND s.account_id = ANY(${accountIds}::uuid[])`);
}

/**
 * Runs updates one after the other, those of one session on each other's result. Returns the results of those
 * whose session is live and whose account's access is not locked by another transaction.
 */
async function updateSessions(tx: Queries, updates: readonly SessionUpdate[]): Promise<Map<SessionUpdate, unknown>> {
  const rows = await tx.query<SessionRow>(
    lockSessions({ ids: updates.map(({ id }) => id), accountIds: updates.map(({ accountId }) => accountId) }),
  );
  const live = new Map(rows.map((row) => [row.id, toSession(row)]));
  const refreshed = new Map<string, Session>();
  const ended: SessionEnd[] = [];
  const results = new Map<SessionUpdate, unknown>();
  for (const update of updates) {
    const session = live.get(update.id);
    if (!session) continue;
    const { next, end: cause, result } = update.work(session);
    results.set(update, result);
    if (next) {
      live.set(update.id, next);
      refreshed.set(update.id, next);
    }
    if (cause) {
      live.delete(update.id);
      const { now, requestId, trace } = update;
      ended.push({ session, cause, now, requestId, trace });
    }
  }
  await writeRefreshed(tx, [...refreshed.values()]);
  await endSessions(tx, ended);
  return results;
}

/**
 * Returns a function that updates live sessions: updates that arrive while a transaction runs share the next
 * one. Updates of an account that is locked, and of a session that has ended, share one on `waiting` that
 * waits for the account.
 */
function sessionUpdater(postgres: Postgres, waiting: Postgres): (update: SessionUpdate) => Promise<unknown> {
  const updateLater = createBatcher((updates: readonly SessionUpdate[]) =>
    waiting.transaction(async (tx) => {
      await lockAccess(tx, updates[0]!.accountId);
      const results = await updateSessions(tx, updates);
      return updates.map((update) => results.get(update));
    }),
  );
  return createShardBatcher(
    postgres,
    ({ accountId }: SessionUpdate) => accountId,
    async (updates): Promise<unknown[]> => {
      const results = await postgres.transaction((tx) => updateSessions(tx, updates));
      return updates.map((update) =>
        results.has(update) ? results.get(update) : updateLater(update, update.accountId),
      );
    },
    MAX_UPDATES,
  );
}

const CONTESTED = `others have ended ${MAX_ENDED_BY_OTHERS} sessions of that device or recovery key in a day`;

/** Returns the sessions without those of devices whose sessions others have ended often today. */
async function withoutContested(
  tx: Prisma.TransactionClient,
  accountId: string,
  sessions: readonly Session[],
  { isOwn, now }: { isOwn(session: Session): boolean; now: Date },
): Promise<Session[]> {
  const ended = await tx.session.findMany({
    where: { accountId, endedCause: "ended-by-user", endedAt: { gt: new Date(now.getTime() - DAY_MS) } },
    select: { deviceKey: true },
  });
  const countOf = ({ deviceKey }: Session) => ended.filter((each) => each.deviceKey === deviceKey.publicKey).length;
  return sessions.filter((session) => isOwn(session) || countOf(session) < MAX_ENDED_BY_OTHERS);
}

/**
 * Keeps sessions in Postgres. Prisma is not used where every sign-in or refresh passes. Work that waits for a
 * lock uses the connections of `waiting`.
 */
export function postgresSessionStore(prisma: PrismaClient, postgres: Postgres, waiting = postgres): SessionStore {
  const begin = sessionBeginner(postgres, waiting);
  const update = sessionUpdater(postgres, waiting);
  return {
    async begin(session, requestId, asked) {
      const outcome = await begin({ session, requestId, once: asked ?? {} });
      if (outcome === "begun") return session;
      if (outcome !== "begun-before") throw new AppError("PleaseRegisterKey");
      return waiting.transaction(async (tx) => {
        await lockAccess(tx, session.accountId);
        // It gets tokens once more, as by a refresh: what ends it later must know that they are good.
        await tx.execute(sql`
          UPDATE session SET last_used_at = greatest(last_used_at, ${session.lastUsedAt}::timestamptz)
          WHERE account_id = ${session.accountId}::uuid AND id = ${session.id}::uuid AND ended_at IS NULL`);
        const [live] = await tx.query<SessionRow>(lockSessions({ ids: [session.id], accountIds: [session.accountId] }));
        return live && toSession(live);
      });
    },

    async update<T>(
      { id, accountId }: { id: string; accountId: string },
      work: (session: Session) => { next?: Session; end?: EndCause; result: T },
      now: Date,
      requestId: string,
    ) {
      return (await update({ id, accountId, work, now, requestId, trace: activeTrace() })) as T | undefined;
    },

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
        // A batch that begins sessions updates them in another order.
        await lockAccess(queriesIn(tx), accountId);
        const id = "id" in which ? which.id : { not: which.allBut };
        const rows = await tx.session.findMany({ where: { accountId, id, endedAt: null }, orderBy: { id: "asc" } });
        const sessions = rows.map(toSession);
        const { by } = which;
        const isOwn = ({ deviceKey }: Session) => by !== undefined && samePublicKey(by, deviceKey);
        const ending =
          cause === "ended-by-user" ? await withoutContested(tx, accountId, sessions, { isOwn, now }) : sessions;
        if ("id" in which && ending.length < sessions.length)
          throw new AppError("TimeLockContested", { detail: CONTESTED });
        return endSessions(
          queriesIn(tx),
          // Its own do not count: a thief's device would end five, and then the owner could end none.
          ending.map((session) => ({ session, cause: isOwn(session) ? "signed-out" : cause, now, requestId })),
        );
      }),
  };
}
