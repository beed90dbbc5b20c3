import {
  createShardBatcher,
  deleteInBatches,
  deletionOf,
  lockAccount,
  type Postgres,
  queriesIn,
  sql,
} from "@countersign/postgres";
import type { DeliveryStore } from "../notices/ports.ts";
import type { Deliveries, PushTokens } from "../push/push-devices.ts";
import type { PrismaClient } from "./generated/client.ts";

/** Keeps delivered notices and rejected push tokens in Postgres. */
export function postgresDeliveryStore(
  prisma: PrismaClient,
  postgres: Postgres,
): Deliveries & DeliveryStore & PushTokens {
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
    history,
    async has(eventId, target) {
      return (await prisma.delivery.findUnique({ where: { eventId_target: { eventId, target } } })) !== null;
    },
    async note({ eventId, target, accountId, kind, at }) {
      const data = { eventId, target, accountId, kind, createdAt: at };
      await prisma.delivery.createMany({ data: [data], skipDuplicates: true });
    },
    begin: ({ eventId, accountId, kind, at, since, limit }) =>
      prisma.$transaction(async (tx) => {
        await lockAccount(queriesIn(tx), accountId);
        const id = { eventId, target: "notice" };
        if ((await tx.delivery.findUnique({ where: { eventId_target: id } })) !== null) return true;
        const count = await tx.delivery.count({
          where: { accountId, kind, target: "notice", createdAt: { gt: since } },
        });
        if (count >= limit) return false;
        await tx.delivery.create({ data: { ...id, accountId, kind, createdAt: at } });
        return true;
      }),
    forgetDeliveries: (before) =>
      deleteInBatches([deletionOf(queriesIn(prisma), "delivery", sql`created_at < ${before} ORDER BY created_at`)]),
    async clearPushToken(id, pushToken) {
      await prisma.device.updateMany({ where: { id, pushToken }, data: { pushToken: "" } });
    },
  };
}
