import type { PublicKey } from "@countersign/keys";
import { groupUses, type Postgres, sqlFile, withAccountLock, writeTogether } from "@countersign/postgres";
import type { Device, DeviceType } from "../domain/devices/device.ts";
import type { AccountDevices, DeviceStore } from "../domain/devices/device-store.ts";
import { deviceEventRow } from "./device-event.ts";
import type { Prisma, PrismaClient, Device as Row } from "./generated/client.ts";

export function toDevice(row: Row): Device {
  const { id, accountId, algorithm, publicKey, createdAt, lastUsedAt, removedAt, type, ...attributes } = row;
  return {
    id,
    accountId,
    publicKey: { algorithm: algorithm as PublicKey["algorithm"], publicKey },
    attributes: { ...attributes, type: type as DeviceType },
    createdAt,
    lastUsedAt,
    removedAt,
  };
}

const toRow = ({ publicKey, attributes, ...rest }: Device): Row => ({ ...rest, ...publicKey, ...attributes });

function accountDevices(tx: Prisma.TransactionClient, accountId: string): AccountDevices {
  return {
    async findRemoved(publicKey) {
      const row = await tx.device.findFirst({
        where: { accountId, publicKey, removedAt: { not: null } },
        orderBy: { removedAt: "desc" },
      });
      return row ? toDevice(row) : undefined;
    },
    listLive: async () => (await tx.device.findMany({ where: { accountId, removedAt: null } })).map(toDevice),
    async insert(device) {
      // ON CONFLICT DO NOTHING: an error would end the transaction.
      const { count } = await tx.device.createMany({ data: [toRow(device)], skipDuplicates: true });
      return count === 1;
    },
    async update({ id, attributes, removedAt }) {
      await tx.device.update({ where: { id, accountId }, data: { ...attributes, removedAt } });
    },
    async publish(event) {
      await tx.outbox.create({ data: deviceEventRow(event) });
    },
  };
}

const insertFirst = {
  one: sqlFile(new URL("../../sql/insert-first-device.sql", import.meta.url)),
  many: sqlFile(new URL("../../sql/insert-first-devices.sql", import.meta.url)),
};
const touchStatement = sqlFile(new URL("../../sql/touch-devices.sql", import.meta.url));

/**
 * Keeps devices in Postgres. Every sign-up registers a device, and every sign-in notes the use of its device,
 * without Prisma.
 */
export function postgresDeviceStore(prisma: PrismaClient, postgres: Postgres): DeviceStore {
  const touch = groupUses(postgres, async (uses) => {
    const rows = await postgres.query<{ registeredAt: Date | null }>(touchStatement({ ...uses }));
    return rows.map(({ registeredAt }) => registeredAt ?? undefined);
  });
  const writeFirst = writeTogether(postgres, insertFirst);
  return {
    async insertFirst(event) {
      const { id: eventId, subject, payload } = deviceEventRow(event);
      return writeFirst({ ...toRow(event.device), eventId, subject, payload });
    },
    withAccount: (accountId, work) => withAccountLock(prisma, accountId, (tx) => work(accountDevices(tx, accountId))),
    async listLive(accountId) {
      const rows = await prisma.device.findMany({
        where: { accountId, removedAt: null },
        orderBy: [{ lastUsedAt: "desc" }, { id: "desc" }],
      });
      return rows.map(toDevice);
    },
    touch: (accountId, key, usedAt) => touch({ accountId, key, usedAt }),
  };
}
