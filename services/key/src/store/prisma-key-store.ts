import type { PublicKey } from "@countersign/keys";
import { groupUses } from "@countersign/postgres";
import type { AccountKeys, KeyStore } from "../domain/ports.ts";
import type { KeyKind, KeyOrigin, Registration, UserKeyType } from "../domain/registration.ts";
import type { Prisma, PrismaClient, Registration as Row } from "./generated/client.ts";
import { keyEventRow } from "./key-event.ts";

type Algorithm = PublicKey["algorithm"];

function toRegistration(row: Row): Registration {
  const { appId, appName, type, accountAlgorithm, accountKey, deviceAlgorithm, deviceKey, origin, kind, ...rest } = row;
  return {
    ...rest,
    app: { appId, appName },
    type: type as UserKeyType,
    accountKey: { algorithm: accountAlgorithm as Algorithm, publicKey: accountKey },
    deviceKey: { algorithm: deviceAlgorithm as Algorithm, publicKey: deviceKey },
    origin: origin as KeyOrigin,
    kind: kind as KeyKind,
  };
}

const toRow = ({ app, accountKey, deviceKey, ...rest }: Registration): Row => ({
  ...rest,
  ...app,
  accountAlgorithm: accountKey.algorithm,
  accountKey: accountKey.publicKey,
  deviceAlgorithm: deviceKey.algorithm,
  deviceKey: deviceKey.publicKey,
});

function accountKeys(tx: Prisma.TransactionClient, accountId: string): AccountKeys {
  return {
    async findActive(chainName, accountKey) {
      const row = await tx.registration.findFirst({ where: { accountId, chainName, accountKey, revokedAt: null } });
      return row ? toRegistration(row) : undefined;
    },
    async findAtIndex(chainName, keyIndex) {
      const row = await tx.registration.findFirst({ where: { accountId, chainName, keyIndex } });
      return row ? toRegistration(row) : undefined;
    },
    async all() {
      const rows = await tx.registration.findMany({
        where: { accountId },
        orderBy: [{ createdAt: "asc" }, { id: "asc" }],
      });
      return rows.map(toRegistration);
    },
    countActive: () =>
      tx.registration.count({ where: { accountId, revokedAt: null, kind: "user", origin: { not: "chain" } } }),
    async insert(registration) {
      await tx.registration.create({ data: toRow(registration) });
    },
    async update(registration) {
      await tx.registration.update({ where: { id: registration.id, accountId }, data: toRow(registration) });
    },
    async remove(id) {
      await tx.registration.deleteMany({ where: { id, accountId } });
    },
    async leave(now) {
      const { count } = await tx.leftAccount.createMany({ data: [{ accountId, leftAt: now }], skipDuplicates: true });
      return count === 1;
    },
    async publish(event) {
      await tx.outbox.create({ data: keyEventRow(event) });
    },
  };
}

/** Registrations in Postgres. */
export function prismaKeyStore(prisma: PrismaClient): KeyStore {
  const touch = groupUses(
    ({ accountIds, algorithms, keys, usedAt }) => prisma.$executeRaw`
      UPDATE registration AS t SET last_used_at = n.used_at
      FROM unnest(${accountIds}::uuid[], ${algorithms}::text[], ${keys}::text[], ${usedAt}::timestamptz[]) AS n(id, algorithm, key, used_at)
      WHERE t.account_id = n.id AND t.account_algorithm = n.algorithm AND t.account_key = n.key AND t.revoked_at IS NULL
        AND (t.last_used_at IS NULL OR t.last_used_at < n.used_at)`,
  );
  return {
    withAccount: (accountId, work) =>
      prisma.$transaction(
        async (tx) => {
          // One lock per account makes limits and "find, then insert" hold in all replicas.
          await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${accountId}, 0))`;
          return work(accountKeys(tx, accountId));
        },
        { maxWait: 5_000, timeout: 5_000 },
      ),
    async findByKey(accountId, chainName, { algorithm, publicKey }) {
      // Plain SQL: every sign-in passes here twice, and Prisma's query compiler costs more than the
      // statement.
      const rows = await prisma.$queryRaw<Row[]>`
        SELECT id, account_id AS "accountId", chain_name AS "chainName", app_id AS "appId", app_name AS "appName", type,
          account_algorithm AS "accountAlgorithm", account_key AS "accountKey", device_algorithm AS "deviceAlgorithm",
          device_key AS "deviceKey", key_index AS "keyIndex", origin, kind, weight, name, created_at AS "createdAt",
          last_used_at AS "lastUsedAt", revoked_at AS "revokedAt", pending_until AS "pendingUntil", alert_at AS "alertAt",
          cloud_account_name AS "cloudAccountName"
        FROM registration
        WHERE account_id = ${accountId}::uuid AND chain_name = ${chainName} AND revoked_at IS NULL
          AND ((account_algorithm = ${algorithm} AND account_key = ${publicKey})
            OR (device_algorithm = ${algorithm} AND device_key = ${publicKey}))
        ORDER BY created_at, id`;
      return rows.map(toRegistration);
    },
    async list(accountId, { includeRevoked }) {
      const rows = await prisma.registration.findMany({
        where: { accountId, ...(includeRevoked ? {} : { revokedAt: null }) },
        orderBy: [{ createdAt: "asc" }, { id: "asc" }],
      });
      return rows.map(toRegistration);
    },
    touch: (accountId, key, usedAt) => touch({ accountId, key, usedAt }),
    async alertsDue(now, limit) {
      const rows = await prisma.registration.findMany({
        where: { alertAt: { lte: now } },
        select: { accountId: true },
        distinct: ["accountId"],
        take: limit,
      });
      return rows.map(({ accountId }) => accountId);
    },
  };
}
