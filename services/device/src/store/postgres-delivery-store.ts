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
    const known = await postgres.query<Delivery>(sql`
      SELECT event_id AS "eventId", target, account_id AS "accountId", kind, created_at AS at FROM delivery
      WHERE account_id = ANY(${notices.map(accountOf)}::uuid[]) AND kind = ANY(${notices.map(({ kind }) => kind)}::text[])
        AND created_at > ${since} AND target IN ('notice', 'held') ORDER BY created_at`);
    const ofKind = ({ accountId, kind }: Omit<Delivery, "target">) => `${accountId} ${kind}`;
    const begun = Map.groupBy(known, ofKind);
    const made: Delivery[] = [];
    const outdated: string[] = [];
    const outcomes = notices.map((notice) => {
      const before = begun.get(ofKind(notice)) ?? [];
      const earlier = before.find(({ eventId }) => eventId === notice.eventId);
      if (earlier) return earlier.target === "notice";
      const sent = before.filter(({ at, target }) => target === "notice" && at > notice.since);
      const begins = sent.length < notice.limit;
      const row = { ...notice, target: begins ? "notice" : "held" };
      const replaced = begins ? [] : before.filter(({ target }) => target === "held").slice(1);
      outdated.push(...replaced.map(({ eventId }) => eventId));
      made.push(row);
      begun.set(ofKind(notice), [...before.filter((each) => !replaced.includes(each)), row]);
      return begins;
    });
    const rows = made.filter(({ eventId }) => !outdated.includes(eventId));
    if (rows.length > 0) await insert(rows);
    if (outdated.length > 0)
      await postgres.execute(sql`
        DELETE FROM delivery WHERE account_id = ANY(${notices.map(accountOf)}::uuid[])
          AND event_id = ANY(${outdated}::uuid[]) AND target = 'held'`);
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
    held: (before, after) =>
      postgres.query(sql`
        SELECT event_id AS "eventId", account_id AS "accountId", kind, created_at AS at FROM delivery
        WHERE target = 'held' AND created_at < ${before} AND event_id > ${after}::uuid ORDER BY event_id LIMIT 100`),
    async noteHeld({ eventId, accountId }) {
      await postgres.execute(sql`
        UPDATE delivery SET target = 'notice'
        WHERE event_id = ${eventId}::uuid AND target = 'held' AND account_id = ${accountId}::uuid`);
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
