import { type Administrator, type Clock, isAppError, uuidv7 } from "@countersign/core";
import { type Queries, sql } from "@countersign/postgres";

/** A row of the table admin_action, which every service has: rows are only added. */
export interface ActionRow {
  readonly id: string;
  readonly at: Date;
  readonly person: string;
  readonly command: string;
  readonly accountId: string | null;
  readonly arguments: Readonly<Record<string, string | number | boolean>>;
  readonly reason: string;
  /** "read", "done", "begun", "requested", "approved", "rejected", or the reason of a refusal. */
  readonly outcome: string;
  /** The request that it decides: no other row decides the same one. */
  readonly requestId: string | null;
}

/** An action, before it is recorded. */
export interface NewAction {
  readonly command: string;
  /** Empty where it is about no account. */
  readonly accountId?: string;
  /** Nothing secret, and no e-mail address. */
  readonly arguments?: ActionRow["arguments"];
  readonly outcome: string;
  readonly requestId?: string;
}

/**
 * Records an action, in the transaction of its effect. Returns its id; undefined where another action has
 * decided the same request.
 */
export async function insertAction(
  queries: Queries,
  { person, reason }: Administrator,
  action: NewAction,
  clock: Clock,
): Promise<string | undefined> {
  const id = uuidv7(clock);
  const { command, accountId, arguments: given = {}, outcome, requestId = null } = action;
  const count = await queries.execute(sql`
    INSERT INTO admin_action (id, at, person, command, account_id, arguments, reason, outcome, request_id)
    VALUES (${id}::uuid, ${clock.now()}::timestamptz, ${person}, ${command}, ${accountId || null}::uuid,
      ${JSON.stringify(given)}::jsonb, ${reason}, ${outcome}, ${requestId}::uuid)
    ON CONFLICT (request_id) DO NOTHING`);
  return count === 1 ? id : undefined;
}

export interface ActionFilter {
  readonly accountId?: string;
  readonly beforeId?: string;
  readonly limit: number;
}

export interface ActionLog {
  /** Records a read; it must be answered only after this. Errors: those of the database. */
  read(by: Administrator, action: Omit<NewAction, "outcome">): Promise<void>;
  /** Records an act that is repeated until it has its effect, before it begins. Returns the record's id. */
  begin(by: Administrator, action: Omit<NewAction, "outcome">): Promise<string>;
  /** Runs an act, which records itself; records its refusal. */
  act<T>(by: Administrator, action: Omit<NewAction, "outcome">, work: () => Promise<T>): Promise<T>;
  /** Returns actions, the newest first. */
  list(filter: ActionFilter): Promise<ActionRow[]>;
  /** Returns requests since a time that were not decided, the newest first; at most 200. */
  openRequests(since: Date): Promise<ActionRow[]>;
}

/** Returns an id that sorts before all of a time or later: the table has no index over times. */
const firstIdAt = (time: Date): string => `${uuidv7({ now: () => time }).slice(0, 14)}7000-8000-000000000000`;

/** Keeps the actions in the table admin_action. */
export function createActionLog(queries: Queries, clock: Clock): ActionLog {
  return {
    async read(by, action) {
      await insertAction(queries, by, { ...action, outcome: "read" }, clock);
    },
    async begin(by, action) {
      // Without a request to decide, nothing is in its way.
      return (await insertAction(queries, by, { ...action, outcome: "begun" }, clock))!;
    },
    async act(by, { requestId: _request, ...action }, work) {
      try {
        return await work();
      } catch (error) {
        // Nothing happened: where this cannot be recorded either, the first error is the one to report.
        const outcome = isAppError(error) ? error.reason : "Internal";
        await insertAction(queries, by, { ...action, outcome }, clock).catch(() => undefined);
        throw error;
      }
    },
    list: ({ accountId, beforeId, limit }) =>
      queries.query<ActionRow>(sql`
        SELECT id, at, person, command, account_id AS "accountId", arguments, reason, outcome,
          request_id AS "requestId"
        FROM admin_action
        WHERE (${accountId ?? null}::uuid IS NULL OR account_id = ${accountId ?? null}::uuid)
          AND (${beforeId ?? null}::uuid IS NULL OR id < ${beforeId ?? null}::uuid)
        ORDER BY id DESC LIMIT ${limit}::int`),
    openRequests: (since) =>
      queries.query<ActionRow>(sql`
        SELECT id, at, person, command, account_id AS "accountId", arguments, reason, outcome,
          request_id AS "requestId"
        FROM admin_action AS a
        WHERE outcome = 'requested' AND id > ${firstIdAt(since)}::uuid
          AND NOT EXISTS (SELECT FROM admin_action AS d WHERE d.request_id = a.id)
        ORDER BY id DESC LIMIT 200`),
  };
}
