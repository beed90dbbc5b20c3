import {
  type AdminCommand,
  type Administrator,
  type AdminRecord,
  type AdminRequest,
  AppError,
  type Clock,
  isAppError,
  REQUEST_GOOD_FOR_MS,
  uuidv7,
} from "@countersign/core";
import { type Queries, sql } from "@countersign/postgres";

/** A row of the table admin_action, which every service has: rows are only added. */
export interface ActionRow extends AdminRequest {
  /** "read", "done", "begun", "requested", "approved", "rejected", or the reason of a refusal. */
  readonly outcome: string;
  /** The request that it decides: no other row decides the same one. */
  readonly requestId: string | null;
}

/** An action, before it is recorded. */
export interface NewAction extends AdminCommand {
  readonly outcome: string;
  readonly requestId?: string;
}

/**
 * Records an action, in the transaction of its effect. Returns its id. Errors: AdminRequestNotFound where
 * another action has decided the same request.
 */
export async function insertAction(
  queries: Queries,
  { person, reason }: Administrator,
  action: NewAction,
  clock: Clock,
): Promise<string> {
  const id = uuidv7(clock);
  const { command, accountId, arguments: given = {}, outcome, requestId = null } = action;
  const count = await queries.execute(sql`
    INSERT INTO admin_action (id, at, person, command, account_id, arguments, reason, outcome, request_id)
    VALUES (${id}::uuid, ${clock.now()}::timestamptz, ${person}, ${command}, ${accountId || null}::uuid,
      ${JSON.stringify(given)}::jsonb, ${reason}, ${outcome}, ${requestId}::uuid)
    ON CONFLICT (request_id) DO NOTHING`);
  if (count === 0) throw new AppError("AdminRequestNotFound");
  return id;
}

export interface ActionLog extends AdminRecord {
  /** Records a read; it must be answered only after this. Errors: those of the database. */
  read(by: Administrator, action: AdminCommand): Promise<void>;
  /** Runs an act, which records itself; records its refusal. */
  act<T>(by: Administrator, action: AdminCommand, work: () => Promise<T>): Promise<T>;
  /** Returns actions, the newest first; of one account, and before one action, where their ids are not "". */
  list(filter: { accountId: string; beforeId: string; limit: number }): Promise<ActionRow[]>;
  /** Returns requests that may be approved, the newest first; at most 200. */
  openRequests(): Promise<ActionRow[]>;
}

/** Returns an id that sorts before all of a time or later: the table has no index over times. */
const firstIdAt = (time: Date): string => `${uuidv7({ now: () => time }).slice(0, 14)}7000-8000-000000000000`;

/** Keeps the actions in the table admin_action. */
export function createActionLog(queries: Queries, clock: Clock): ActionLog {
  /** Returns the requests that may be approved, or the one of an id. */
  const open = (id: string | null) =>
    queries.query<ActionRow>(sql`
      SELECT id, at, person, command, account_id AS "accountId", arguments, reason, outcome,
        request_id AS "requestId"
      FROM admin_action AS a
      WHERE outcome = 'requested' AND id > ${firstIdAt(new Date(clock.now().getTime() - REQUEST_GOOD_FOR_MS))}::uuid
        AND (${id}::uuid IS NULL OR id = ${id}::uuid)
        AND NOT EXISTS (SELECT FROM admin_action AS d WHERE d.request_id = a.id)
      ORDER BY id DESC LIMIT 200`);
  return {
    async read(by, action) {
      await insertAction(queries, by, { ...action, outcome: "read" }, clock);
    },
    begin: (by, action) => insertAction(queries, by, { ...action, outcome: "begun" }, clock),
    request: (by, action) => insertAction(queries, by, { ...action, outcome: "requested" }, clock),
    findRequest: async (id) => (await open(id))[0],
    reject: (by, { id, command, accountId }) =>
      insertAction(queries, by, { command, accountId, outcome: "rejected", requestId: id }, clock),
    async act(by, action, work) {
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
        WHERE (${accountId || null}::uuid IS NULL OR account_id = ${accountId || null}::uuid)
          AND (${beforeId || null}::uuid IS NULL OR id < ${beforeId || null}::uuid)
        ORDER BY id DESC LIMIT ${limit}::int`),
    openRequests: () => open(null),
  };
}
