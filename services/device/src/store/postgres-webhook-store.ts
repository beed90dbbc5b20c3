import { DAY_MS } from "@countersign/core";
import { deleteInBatches, deletionOf, type Postgres, sql } from "@countersign/postgres";
import type { WebhookType } from "../webhooks/message.ts";
import type { EndpointState, LeasedQueue, StoredDelivery, WebhookStore } from "../webhooks/ports.ts";

/** How long a message is tried. */
const GIVE_UP_MS = 3 * DAY_MS;
/** How long a message is kept, from its event or its replay: long enough to send it again after its end. */
const KEPT_MS = 10 * DAY_MS;
/** Of an account at one endpoint; later ones are given up at once, and can be replayed. */
const MAX_WAITING = 1_000;
/** Always waits: the erasure deletes the others, and a backend must not miss it. */
const ERASED: WebhookType = "account.erased";
/** Metrics need no more. */
const MAX_COUNTED = 10_000;
const REPLAY_BATCH = 500;

/** Messages in one state, the oldest of them, and the error of the oldest that has failed. */
interface Counted {
  count: bigint;
  oldest: Date | null;
  lastError: string | null;
}

/**
 * Keeps webhooks in Postgres. A queue is a row for an account and an endpoint, and exists while messages wait
 * there; statements about one account lock its row first, so none of them misses a message that another one
 * adds.
 */
export function postgresWebhookStore(postgres: Postgres): WebhookStore {
  const after = (now: Date, ms: number) => new Date(now.getTime() + ms);
  const lockedQueue = (accountId: string, endpoint: string, now: Date) => sql`
    INSERT INTO webhook_queue (account_id, endpoint, due_at) VALUES (${accountId}::uuid, ${endpoint}, ${now})
    ON CONFLICT (account_id, endpoint) DO UPDATE SET due_at = webhook_queue.due_at`;
  return {
    add: ({ eventId, accountId, endpoints, type, body, now }) =>
      postgres.transaction(async (tx) => {
        for (const endpoint of endpoints) {
          await tx.execute(lockedQueue(accountId, endpoint, now));
          await tx.execute(sql`
            INSERT INTO webhook_delivery (account_id, endpoint, event_id, type, body, state, attempts, last_result,
              created_at, give_up_at, forget_at, ended_at)
            SELECT ${accountId}::uuid, ${endpoint}, ${eventId}::uuid, ${type}, ${body},
              CASE WHEN is_full THEN 'dead' ELSE 'waiting' END, 0, CASE WHEN is_full THEN 'too many wait' ELSE '' END,
              ${now}, ${after(now, GIVE_UP_MS)}, ${after(now, KEPT_MS)}, CASE WHEN is_full THEN ${now}::timestamptz END
            FROM (SELECT ${type} <> ${ERASED} AND count(*) >= ${MAX_WAITING} AS is_full FROM webhook_delivery
              WHERE account_id = ${accountId}::uuid AND endpoint = ${endpoint} AND state = 'waiting') AS queue
            ON CONFLICT (account_id, endpoint, event_id) DO NOTHING`);
        }
      }),

    async lease(endpoint, limit, now, until) {
      const due = await postgres.query<{ account_id: string; due_at: Date }>(sql`
        SELECT account_id, due_at FROM webhook_queue
        WHERE endpoint = ${endpoint} AND due_at <= ${now} ORDER BY due_at LIMIT ${limit}`);
      const leased = await Promise.all(
        due.map(async ({ account_id: accountId, due_at: seen }): Promise<LeasedQueue[]> => {
          // Of two processes that saw it due, one finds the time that it saw.
          const taken = await postgres.execute(sql`
            UPDATE webhook_queue SET due_at = ${until}
            WHERE account_id = ${accountId}::uuid AND endpoint = ${endpoint} AND due_at = ${seen}`);
          return taken === 1 ? [{ accountId, endpoint, leasedUntil: until }] : [];
        }),
      );
      return leased.flat();
    },

    async first({ accountId, endpoint }) {
      const [row] = await postgres.query<StoredDelivery>(sql`
        SELECT event_id AS "eventId", body, attempts, give_up_at AS "giveUpAt" FROM webhook_delivery
        WHERE account_id = ${accountId}::uuid AND endpoint = ${endpoint} AND state = 'waiting'
        ORDER BY event_id LIMIT 1`);
      return row;
    },

    async end({ accountId, endpoint }, eventId, state, result, now) {
      await postgres.execute(sql`
        UPDATE webhook_delivery SET state = ${state}, attempts = attempts + 1, last_result = ${result}, ended_at = ${now}
        WHERE account_id = ${accountId}::uuid AND endpoint = ${endpoint} AND event_id = ${eventId}::uuid
          AND state = 'waiting'`);
    },

    retry: ({ accountId, endpoint, leasedUntil }, eventId, result, dueAt) =>
      postgres.transaction(async (tx) => {
        await tx.execute(sql`
          UPDATE webhook_queue SET due_at = ${dueAt}
          WHERE account_id = ${accountId}::uuid AND endpoint = ${endpoint} AND due_at = ${leasedUntil}`);
        await tx.execute(sql`
          UPDATE webhook_delivery SET attempts = attempts + 1, last_result = ${result}
          WHERE account_id = ${accountId}::uuid AND endpoint = ${endpoint} AND event_id = ${eventId}::uuid
            AND state = 'waiting'`);
      }),

    release: ({ accountId, endpoint, leasedUntil }, now) =>
      postgres.transaction(async (tx) => {
        const [own] = await tx.query(sql`
          SELECT 1 FROM webhook_queue WHERE account_id = ${accountId}::uuid AND endpoint = ${endpoint}
            AND due_at = ${leasedUntil} FOR UPDATE`);
        if (own === undefined) return;
        // With the row locked: a message that is being added is seen, or its transaction makes the row again.
        const deleted = await tx.execute(sql`
          DELETE FROM webhook_queue WHERE account_id = ${accountId}::uuid AND endpoint = ${endpoint}
            AND NOT EXISTS (SELECT 1 FROM webhook_delivery WHERE account_id = ${accountId}::uuid
              AND endpoint = ${endpoint} AND state = 'waiting')`);
        if (deleted > 0) return;
        await tx.execute(sql`
          UPDATE webhook_queue SET due_at = ${now} WHERE account_id = ${accountId}::uuid AND endpoint = ${endpoint}`);
      }),

    // Row by row: a process that dies leaves the other rows as they were, for the command's repetition.
    async replay({ endpoint, eventId = null, from = null, to = null, deadOnly, endedBefore }, now) {
      const states = deadOnly ? ["dead"] : ["dead", "delivered"];
      const rows = await postgres.query<{ account_id: string; event_id: string; created_at: Date }>(sql`
        SELECT account_id, event_id, created_at FROM webhook_delivery
        WHERE endpoint = ${endpoint} AND state = ANY (${states}) AND ended_at < ${endedBefore ?? now}
          AND (${eventId}::uuid IS NULL OR event_id = ${eventId}::uuid)
          AND (${from}::timestamptz IS NULL OR created_at >= ${from}::timestamptz)
          AND (${to}::timestamptz IS NULL OR created_at < ${to}::timestamptz)
        ORDER BY created_at LIMIT ${REPLAY_BATCH}`);
      let replayed = 0;
      for (const { account_id: accountId, event_id: id } of rows) {
        replayed += await postgres.transaction(async (tx) => {
          await tx.execute(lockedQueue(accountId, endpoint, now));
          return tx.execute(sql`
            UPDATE webhook_delivery SET state = 'waiting', attempts = 0, ended_at = NULL, last_result = 'replayed',
              give_up_at = ${after(now, GIVE_UP_MS)}, forget_at = ${after(now, KEPT_MS)}
            WHERE account_id = ${accountId}::uuid AND endpoint = ${endpoint} AND event_id = ${id}::uuid
              AND state <> 'waiting'`);
        });
      }
      return { replayed, nextFrom: rows[REPLAY_BATCH - 1]?.created_at };
    },

    async states(endpoints) {
      return Promise.all(
        endpoints.map(async (endpoint): Promise<EndpointState> => {
          // The error is one of the counted rows: a look at all states would read the delivered ones.
          const counts = await Promise.all(
            ["waiting", "dead"].map(async (state) => {
              const [row] = await postgres.query<Counted>(sql`
                SELECT count(*), min(created_at) AS oldest,
                  (array_agg(last_result ORDER BY created_at) FILTER (WHERE attempts > 0))[1] AS "lastError"
                FROM (SELECT created_at, last_result, attempts FROM webhook_delivery
                  WHERE endpoint = ${endpoint} AND state = ${state} AND state <> 'delivered'
                  ORDER BY created_at LIMIT ${MAX_COUNTED}) AS counted`);
              return row!;
            }),
          );
          const [waiting, dead] = counts as [Counted, Counted];
          return {
            endpoint,
            waiting: Number(waiting.count),
            dead: Number(dead.count),
            oldestAt: waiting.oldest ?? undefined,
            lastError: dead.lastError ?? waiting.lastError ?? "",
          };
        }),
      );
    },

    forget: (now) =>
      deleteInBatches([
        deletionOf(postgres, "webhook_delivery", sql`forget_at < ${now} ORDER BY forget_at`),
        // Of endpoints that were removed: nobody leases these.
        deletionOf(postgres, "webhook_queue", sql`due_at < ${new Date(now.getTime() - KEPT_MS)} ORDER BY due_at`),
      ]),
  };
}
