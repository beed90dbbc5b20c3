import type { PublicKey } from "@countersign/keys";
import {
  createShardBatcher,
  groupUses,
  type Postgres,
  sql,
  sqlFile,
  withAccountLock,
  writeTogether,
} from "@countersign/postgres";
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
    async all() {
      const rows = await tx.registration.findMany({
        where: { accountId },
        orderBy: [{ createdAt: "asc" }, { id: "asc" }],
      });
      return rows.map(toRegistration);
    },
    async insert(registration) {
      await tx.registration.create({ data: toRow(registration) });
    },
    async update(registration) {
      const { id, accountId: _unchanged, ...data } = toRow(registration);
      await tx.registration.update({ where: { id, accountId }, data });
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

const insertFirst = {
  one: sqlFile(new URL("../../sql/insert-first-key.sql", import.meta.url)),
  many: sqlFile(new URL("../../sql/insert-first-keys.sql", import.meta.url)),
};
const findByKey = sqlFile(new URL("../../sql/find-by-key.sql", import.meta.url));

/** Uses of so many milliseconds are written together. A process that ends loses them: they decide nothing. */
const USES_MS = 500;

type KeyQuery = { accountId: string; chainName: string } & PublicKey;

/**
 * Keeps registrations in Postgres. Every sign-up registers a key, and every sign-in finds its key twice and
 * notes its use, without Prisma. `accountMs`: see withAccountLock.
 */
export function postgresKeyStore(prisma: PrismaClient, postgres: Postgres, accountMs?: number): KeyStore {
  const touch = groupUses(
    postgres,
    async ({ accountIds, algorithms, keys, usedAt }) => {
      await postgres.execute(sql`
      UPDATE registration AS t SET last_used_at = n.used_at
      FROM unnest(${accountIds}::uuid[], ${algorithms}::text[], ${keys}::text[], ${usedAt}::timestamptz[]) AS n(id, algorithm, key, used_at)
      WHERE t.account_id = ANY(${accountIds}::uuid[]) AND t.account_id = n.id AND t.account_algorithm = n.algorithm AND t.account_key = n.key AND t.revoked_at IS NULL
        AND (t.last_used_at IS NULL OR t.last_used_at < n.used_at)`);
      return [];
    },
    USES_MS,
  );
  const find = createShardBatcher(
    postgres,
    ({ accountId }: KeyQuery) => accountId,
    async (queries) => {
      const rows = await postgres.query<Row & { at: number }>(
        findByKey({
          accountIds: queries.map(({ accountId }) => accountId),
          chainNames: queries.map(({ chainName }) => chainName),
          algorithms: queries.map(({ algorithm }) => algorithm),
          publicKeys: queries.map(({ publicKey }) => publicKey),
        }),
      );
      const found = Map.groupBy(rows, ({ at }) => at);
      return queries.map((_, i) => (found.get(i + 1) ?? []).map(({ at: _at, ...row }) => toRegistration(row)));
    },
  );
  const writeFirst = writeTogether(postgres, insertFirst);
  return {
    async insertFirst(event) {
      const { id: eventId, subject, payload } = keyEventRow(event);
      return writeFirst({ ...toRow(event.registration), eventId, subject, payload });
    },
    withAccount: (accountId, work) =>
      withAccountLock(prisma, accountId, (tx) => work(accountKeys(tx, accountId)), accountMs),
    findByKey: (accountId, chainName, publicKey) => find({ accountId, chainName, ...publicKey }),
    async list(accountId, { includeRevoked }) {
      const rows = await prisma.registration.findMany({
        where: { accountId, ...(includeRevoked ? {} : { revokedAt: null }) },
        orderBy: [{ createdAt: "asc" }, { id: "asc" }],
      });
      return rows.map(toRegistration);
    },
    touch: (accountId, key, usedAt) => touch({ accountId, key, usedAt }),
    async alertsDue(now, limit) {
      const rows = await postgres.query<{ id: string }>(sql`
        SELECT account_id AS id FROM registration WHERE alert_at <= ${now}
        GROUP BY account_id ORDER BY min(alert_at) LIMIT ${limit}::int`);
      return rows.map(({ id }) => id);
    },
  };
}
