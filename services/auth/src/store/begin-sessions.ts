import { AppError, activeTrace, type TraceParent } from "@countersign/core";
import { samePublicKey } from "@countersign/keys";
import { createShardBatcher, type Postgres, type Queries, sql } from "@countersign/postgres";
import { ACCESS_TOKEN_MS, REFRESH_RETRY_MS, type Session } from "../domain/sessions/session.ts";
import type { PasskeyCounter } from "../domain/sign-in/ports.ts";
import { sessionCreatedRow } from "./events.ts";
import { toSessionColumns } from "./rows.ts";

/** Clocks of other services may be behind ours. */
const SKEW_MS = 60_000;

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
export interface SessionStart {
  readonly session: Session;
  readonly requestId: string;
  /** The sign-in's own position: one statement begins many sessions. */
  readonly trace: TraceParent | undefined;
  /** The challenge that the session answers. */
  readonly challenge?: string;
  /** The counter of the passkey that answered. */
  readonly counter?: PasskeyCounter | undefined;
}

/**
 * begun; or why not: a key is blocked or the account has left, the challenge is used, or the passkey's
 * counter has not grown.
 */
export type SessionOutcome = "begun" | "blocked" | "used" | "old-counter";

const bytea = (bytes: Uint8Array): string => `\\x${Buffer.from(bytes).toString("hex")}`;

function toMember({ session, challenge, counter, ...request }: SessionStart): object {
  const { row, replacedIdAt } = sessionCreatedRow(session, request);
  return {
    session: toSessionColumns(session),
    challenge,
    sign_count: counter?.signCount,
    created: { id: row.id, subject: row.subject, payload: bytea(row.payload), created_at: row.createdAt },
    replaced_id_at: replacedIdAt,
  };
}

/**
 * Begins sessions of different accounts. Leaves out accounts that another transaction has locked, and those
 * without a row of `account_access` yet. See the last migration of `begin_each_session`.
 */
async function beginFree(on: Queries, starts: readonly SessionStart[]): Promise<Map<string, SessionOutcome>> {
  const rows = await on.query<{ session_id: string; outcome: SessionOutcome }>(sql`
    SELECT session_id, outcome FROM begin_each_session(${JSON.stringify(starts.map(toMember))}::json,
      ${MAX_WRONG_ANSWERS}::int, ${ENDED_MS}::float8 * interval '1 ms', ${LAST_TOKEN_MS}::float8 * interval '1 ms')`);
  return new Map(rows.map(({ session_id, outcome }) => [session_id, outcome]));
}

/**
 * Begins one session with its event, and ends the live session that the same device has of the same app.
 * Waits for the account's lock.
 */
async function beginAlone(tx: Queries, start: SessionStart): Promise<SessionOutcome> {
  await lockAccess(tx, start.session.accountId);
  // Never left out: this transaction has the lock.
  return (await beginFree(tx, [start])).get(start.session.id)!;
}

/** Begins a session that answers no challenge. Errors: PleaseRegisterKey where it is blocked. */
export async function beginSessionIn(tx: Queries, session: Session, requestId: string): Promise<void> {
  if ((await beginAlone(tx, { session, requestId, trace: activeTrace() })) === "blocked")
    throw new AppError("PleaseRegisterKey");
}

/**
 * Returns a function that begins sessions: those that arrive while a statement runs share the next one. A
 * second session of an account, and one whose account is locked, begin in transactions of their own, so that
 * nobody waits for another account's lock.
 */
export function sessionBeginner(postgres: Postgres): (start: Omit<SessionStart, "trace">) => Promise<SessionOutcome> {
  const alone = (start: SessionStart) => postgres.transaction((tx) => beginAlone(tx, start));
  const accountOf = ({ session }: SessionStart) => session.accountId;
  const begin = async (starts: readonly SessionStart[]): Promise<(SessionOutcome | Promise<SessionOutcome>)[]> => {
    // A map keeps the last entry of a key: of the reversed list, the first session of each account.
    const first = new Map(starts.toReversed().map((start) => [start.session.accountId, start]));
    const outcomes = await beginFree(postgres, [...first.values()]);
    /** Returns what another start of the batch says about this one: copies of an answer wait for no lock. */
    const outcomeOfCopy = ({ session, challenge }: SessionStart): SessionOutcome | undefined => {
      const before = first.get(session.accountId)!;
      if (challenge === undefined || challenge !== before.challenge) return undefined;
      const outcome = outcomes.get(before.session.id);
      if (outcome === "begun" || outcome === "used") return "used";
      // Another passkey of the account may answer the same challenge.
      const isSameKey = samePublicKey(session.accountKey, before.session.accountKey);
      return outcome === "blocked" && isSameKey ? outcome : undefined;
    };
    // A promise for an account that was left out: its caller waits for the lock, the batch does not.
    return starts.map((start) => outcomes.get(start.session.id) ?? outcomeOfCopy(start) ?? alone(start));
  };
  const together = createShardBatcher(postgres, accountOf, begin);
  return async (start) => together({ ...start, trace: activeTrace() });
}
