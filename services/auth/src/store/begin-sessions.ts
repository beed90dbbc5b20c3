import { AppError, activeTrace, createBatcher, type TraceParent } from "@countersign/core";
import { createShardBatcher, type Postgres, type Queries, sql } from "@countersign/postgres";
import { ACCESS_TOKEN_MS, REFRESH_RETRY_MS, type Session, type SessionRequest } from "../domain/sessions/session.ts";
import type { PasskeyCounter } from "../domain/sign-in/ports.ts";
import { sessionCreatedRow } from "./events.ts";
import { toSessionColumns } from "./rows.ts";

/** Clocks of services differ by less. */
export const SKEW_MS = 60_000;

/** A session that was last refreshed longer ago has no access token that is still good. */
const LAST_TOKEN_MS = REFRESH_RETRY_MS + ACCESS_TOKEN_MS + SKEW_MS;

/** How long services must know that a session has ended: its last access token has expired by then. */
export const ENDED_MS = ACCESS_TOKEN_MS + SKEW_MS;

/** Wrong answers that end a challenge. */
export const MAX_WRONG_ANSWERS = 5;

/**
 * Locks an account's access until the end of the transaction: sessions begin, keys are blocked and freezes
 * change one after the other. The account's first lock inserts the row.
 */
export async function lockAccess(tx: Queries, accountId: string): Promise<void> {
  // An update whose condition fails still locks the row.
  await tx.execute(sql`
    INSERT INTO account_access (account_id) VALUES (${accountId}::uuid)
    ON CONFLICT (account_id) DO UPDATE SET account_id = EXCLUDED.account_id WHERE false`);
}

/** A session that is to begin. */
interface SessionStart {
  readonly session: Session;
  readonly requestId: string;
  /** The sign-in's own position: one statement begins many sessions. */
  readonly trace: TraceParent | undefined;
  /** The challenge that the session answers. */
  readonly challenge?: string;
  /** The counter of the passkey that answered. */
  readonly counter?: PasskeyCounter | undefined;
  /** Begins once: neither again, nor where its device has begun another one since this request. */
  readonly once?: Partial<SessionRequest>;
}

/**
 * begun; or why not: a key is blocked or the account has left, the challenge is used, the passkey's counter
 * has not grown, or it or another one of its device has begun before.
 */
export type SessionOutcome = "begun" | "blocked" | "used" | "old-counter" | "begun-before";

const bytea = (bytes: Uint8Array): string => `\\x${Buffer.from(bytes).toString("hex")}`;

function toMember({ session, challenge, counter, once, ...request }: SessionStart): object {
  const { row, replacedIdAt } = sessionCreatedRow(session, request);
  return {
    session: toSessionColumns(session),
    challenge,
    sign_count: counter?.signCount,
    created: { id: row.id, subject: row.subject, payload: bytea(row.payload), created_at: row.createdAt },
    replaced_id_at: replacedIdAt,
    once: once !== undefined,
    asked_at: once?.at,
    asked_by: once?.bySession,
  };
}

/**
 * Begins sessions, one after the other. Undefined for those of accounts that another transaction has locked.
 * See the last migration of `begin_each_session`.
 */
async function beginFree(on: Queries, starts: readonly SessionStart[]): Promise<(SessionOutcome | undefined)[]> {
  // Copies of a sign-up have one session, each with another refresh token: the first one begins it.
  const first = new Map<string, SessionStart>();
  for (const start of starts) if (!first.has(start.session.id)) first.set(start.session.id, start);
  const rows = await on.query<{ session_id: string; outcome: SessionOutcome }>(sql`
    SELECT session_id, outcome FROM begin_each_session(${JSON.stringify([...first.values()].map(toMember))}::json,
      ${MAX_WRONG_ANSWERS}::int, ${ENDED_MS}::float8 * interval '1 ms', ${LAST_TOKEN_MS}::float8 * interval '1 ms')`);
  const outcomes = new Map(rows.map(({ session_id, outcome }) => [session_id, outcome]));
  return starts.map((start) => {
    const outcome = outcomes.get(start.session.id);
    return outcome === "begun" && first.get(start.session.id) !== start ? "begun-before" : outcome;
  });
}

/**
 * Begins a session that answers no challenge, in a transaction that has the lock of its account's access.
 * Errors: PleaseRegisterKey where it is blocked.
 */
export async function beginSessionIn(tx: Queries, session: Session, requestId: string): Promise<void> {
  const [outcome] = await beginFree(tx, [{ session, requestId, trace: activeTrace() }]);
  if (outcome !== "begun") throw new AppError("PleaseRegisterKey");
}

/**
 * Returns a function that begins sessions: those that arrive while a statement runs share the next one.
 * Sessions of an account that another transaction has locked share one on `waiting` that waits for the lock:
 * nobody waits for another account's lock, but 20 ms for its first one, and waiting takes one connection for
 * each account.
 */
export function sessionBeginner(
  postgres: Postgres,
  waiting: Postgres,
): (start: Omit<SessionStart, "trace">) => Promise<SessionOutcome> {
  const accountOf = ({ session }: SessionStart) => session.accountId;
  const beginLater = createBatcher((starts: readonly SessionStart[]) =>
    waiting.transaction(async (tx) => {
      await lockAccess(tx, accountOf(starts[0]!));
      // None is left out: this transaction has the lock.
      return (await beginFree(tx, starts)) as SessionOutcome[];
    }),
  );
  const begin = async (starts: readonly SessionStart[]): Promise<(SessionOutcome | Promise<SessionOutcome>)[]> => {
    const outcomes = await beginFree(postgres, starts);
    // A promise for an account that was left out: its caller waits for the lock, the batch does not.
    return starts.map((start, i) => outcomes[i] ?? beginLater(start, accountOf(start)));
  };
  const together = createShardBatcher(postgres, accountOf, begin);
  return async (start) => together({ ...start, trace: activeTrace() });
}
