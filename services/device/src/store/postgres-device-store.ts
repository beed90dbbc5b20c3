import type { DeviceAttributes } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import {
  createShardBatcher,
  groupUses,
  type Postgres,
  sqlFile,
  withAccountLock,
  writeTogether,
} from "@countersign/postgres";
import type { Device } from "../domain/devices/device.ts";
import type { AccountDevices, DeviceStore } from "../domain/devices/device-store.ts";
import { deviceEventRow } from "./device-event.ts";
import type { Prisma, PrismaClient, Device as Row } from "./generated/client.ts";

export function toDevice(row: Row): Device {
  const { id, accountId, algorithm, publicKey, createdAt, lastUsedAt, removedAt, type, ...attributes } = row;
  return {
    id,
    accountId,
    publicKey: { algorithm: algorithm as PublicKey["algorithm"], publicKey },
    attributes: { ...attributes, type: type as DeviceAttributes["type"] },
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
    async insert(registered) {
      // ON CONFLICT DO NOTHING: an error would end the transaction.
      const { count } = await tx.device.createMany({ data: [toRow(registered.device)], skipDuplicates: true });
      if (count === 1) await tx.outbox.create({ data: deviceEventRow(registered) });
      return count === 1;
    },
    async update(changed) {
      const { id, attributes, removedAt } = changed.device;
      await tx.device.update({ where: { id, accountId }, data: { ...attributes, removedAt } });
      await tx.outbox.create({ data: deviceEventRow(changed) });
    },
  };
}

const insertFirst = {
  one: sqlFile(new URL("../../sql/insert-first-device.sql", import.meta.url)),
  many: sqlFile(new URL("../../sql/insert-first-devices.sql", import.meta.url)),
};
const touchStatement = sqlFile(new URL("../../sql/touch-devices.sql", import.meta.url));
const listLiveStatement = sqlFile(new URL("../../sql/list-live-devices.sql", import.meta.url));

/** Uses of so many milliseconds are written together, and what follows from them is done together. */
const USES_MS = 50;

/**
 * Keeps devices in Postgres. Every sign-up registers a device, and every sign-in notes the use of its device,
 * without Prisma.
 */
export function postgresDeviceStore(prisma: PrismaClient, postgres: Postgres): DeviceStore {
  const touch = groupUses(
    postgres,
    async (uses) => {
      const rows = await postgres.query<{ registeredAt: Date | null }>(touchStatement({ ...uses }));
      return rows.map(({ registeredAt }) => registeredAt ?? undefined);
    },
    USES_MS,
  );
  const listLive = createShardBatcher(
    postgres,
    (accountId: string) => accountId,
    async (accountIds) => {
      const rows = await postgres.query<Row>(listLiveStatement({ accountIds }));
      const devices = Map.groupBy(rows.map(toDevice), ({ accountId }) => accountId);
      return accountIds.map((accountId) => devices.get(accountId) ?? []);
    },
  );
  const writeFirst = writeTogether(postgres, insertFirst);
  return {
    async insertFirst(event) {
      const { id: eventId, subject, payload } = deviceEventRow(event);
      return writeFirst({ ...toRow(event.device), eventId, subject, payload });
    },
    withAccount: (accountId, work) => withAccountLock(prisma, accountId, (tx) => work(accountDevices(tx, accountId))),
    listLive,
    touch: (accountId, key, usedAt) => touch({ accountId, key, usedAt }),
  };
}
