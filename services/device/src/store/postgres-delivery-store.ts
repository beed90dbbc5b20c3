import { createShardBatcher, deleteInBatches, deletionOf, type Postgres, queriesIn, sql } from "@countersign/postgres";
import type { DeliveryStore, NoticeStart } from "../notices/ports.ts";
import type { Deliveries, Delivery, PushTokens } from "../push/push-devices.ts";
import type { PrismaClient } from "./generated/client.ts";

const accountOf = ({ accountId }: { accountId: string }): string => accountId;

/**
 * Keeps delivered notices and rejected push tokens in Postgres. Every sign-in is a notice: those that wait
 * share their statements.
 */
export function postgresDeliveryStore(
  prisma: PrismaClient,
  postgres: Postgres,
): Deliveries & DeliveryStore & PushTokens {
  /** In the order of their primary key, so that replicas do not deadlock. */
  async function insert(deliveries: readonly Delivery[]): Promise<undefined[]> {
    const keyOf = ({ eventId, target }: Delivery) => `${eventId} ${target}`;
    const sorted = deliveries.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    const columnOf = (name: keyof Delivery) => sorted.map((delivery) => delivery[name]);
    await postgres.execute(sql`
      INSERT INTO delivery (event_id, target, account_id, kind, created_at)
      SELECT * FROM unnest(${columnOf("eventId")}::uuid[], ${columnOf("target")}::text[],
        ${columnOf("accountId")}::uuid[], ${columnOf("kind")}::text[], ${columnOf("at")}::timestamptz[])
      ON CONFLICT DO NOTHING`);
    return [];
  }
  const begin = createShardBatcher(postgres, accountOf, async (notices: readonly NoticeStart[]): Promise<boolean[]> => {
    const since = new Date(Math.min(...notices.map((notice) => notice.since.getTime())));
    const rows = await postgres.query<Delivery>(sql`
      SELECT event_id AS "eventId", target, account_id AS "accountId", kind, created_at AS at FROM delivery
      WHERE account_id = ANY(${notices.map(accountOf)}::uuid[]) AND kind = ANY(${notices.map(({ kind }) => kind)}::text[])
        AND created_at > ${since} AND target IN ('notice', 'held')`);
    const ofKind = ({ accountId, kind }: Omit<Delivery, "target">) => `${accountId} ${kind}`;
    const begun = Map.groupBy(rows, ofKind);
    const made: Delivery[] = [];
    const outcomes = notices.map((notice) => {
      const before = begun.get(ofKind(notice)) ?? [];
      const known = before.find(({ eventId }) => eventId === notice.eventId);
      if (known) return known.target === "notice";
      const sent = before.filter(({ at, target }) => target === "notice" && at > notice.since);
      const begins = sent.length < notice.limit;
      if (!begins && before.some(({ target }) => target === "held")) return false;
      const row = { ...notice, target: begins ? "notice" : "held" };
      made.push(row);
      begun.set(ofKind(notice), [...before, row]);
      return begins;
    });
    if (made.length > 0) await insert(made);
    return outcomes;
  });
  const has = createShardBatcher(
    postgres,
    accountOf,
    async (asked: readonly Pick<Delivery, "eventId" | "target" | "accountId">[]) => {
      const rows = await postgres.query<{ eventId: string; target: string }>(sql`
        SELECT event_id AS "eventId", target FROM delivery
        WHERE account_id = ANY(${asked.map(accountOf)}::uuid[]) AND event_id = ANY(${asked.map(({ eventId }) => eventId)}::uuid[])`);
      const made = new Set(rows.map(({ eventId, target }) => `${eventId} ${target}`));
      return asked.map(({ eventId, target }) => made.has(`${eventId} ${target}`));
    },
  );
  /** Every sign-up asks, those of one creation together. */
  const history = createShardBatcher(
    postgres,
    (accountId: string) => accountId,
    async (accountIds) => {
      const rows = await postgres.query<{ id: string; accountId: string; createdAt: Date }>(sql`
        SELECT id, account_id AS "accountId", created_at AS "createdAt" FROM device
        WHERE account_id = ANY(${accountIds}::uuid[])`);
      const devices = Map.groupBy(rows, ({ accountId }) => accountId);
      return accountIds.map((accountId) => devices.get(accountId) ?? []);
    },
  );
  return {
    begin,
    takeHeld: (before) =>
      postgres.query(sql`
        UPDATE delivery SET target = 'notice' WHERE target = 'held' AND event_id IN (
          SELECT event_id FROM delivery WHERE target = 'held' AND created_at < ${before} ORDER BY created_at LIMIT 100)
        RETURNING event_id AS "eventId", account_id AS "accountId", kind, created_at AS at`),
    async holdAgain({ eventId, accountId }) {
      await postgres.execute(sql`
        UPDATE delivery SET target = 'held'
        WHERE event_id = ${eventId}::uuid AND target = 'notice' AND account_id = ${accountId}::uuid`);
    },
    has,
    note: createShardBatcher(postgres, accountOf, insert),
    history,
    forgetDeliveries: (before) =>
      deleteInBatches([deletionOf(queriesIn(prisma), "delivery", sql`created_at < ${before} ORDER BY created_at`)]),
    async clearPushToken(id, pushToken) {
      await prisma.device.updateMany({ where: { id, pushToken }, data: { pushToken: "" } });
    },
  };
}
