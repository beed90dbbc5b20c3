import type { PublicKey } from "@countersign/keys";
import type { AccountKeys, KeyStore } from "../domain/ports.ts";
import type { KeyOrigin, Registration, UserKeyType } from "../domain/registration.ts";
import type { Prisma, PrismaClient, Registration as Row } from "./generated/client.ts";
import { keyEventRow } from "./key-event.ts";

type Algorithm = PublicKey["algorithm"];

function toRegistration(row: Row): Registration {
  const { appId, appName, type, accountAlgorithm, accountKey, deviceAlgorithm, deviceKey, origin, ...rest } = row;
  return {
    ...rest,
    app: { appId, appName },
    type: type as UserKeyType,
    accountKey: { algorithm: accountAlgorithm as Algorithm, publicKey: accountKey },
    deviceKey: { algorithm: deviceAlgorithm as Algorithm, publicKey: deviceKey },
    origin: origin as KeyOrigin,
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
    countActive: () => tx.registration.count({ where: { accountId, revokedAt: null } }),
    async insert(registration) {
      await tx.registration.create({ data: toRow(registration) });
    },
    async publish(event) {
      await tx.outbox.create({ data: keyEventRow(event) });
    },
  };
}

/** Registrations in Postgres. */
export function prismaKeyStore(prisma: PrismaClient): KeyStore {
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
      const rows = await prisma.registration.findMany({
        where: {
          accountId,
          chainName,
          revokedAt: null,
          OR: [
            { accountAlgorithm: algorithm, accountKey: publicKey },
            { deviceAlgorithm: algorithm, deviceKey: publicKey },
          ],
        },
        orderBy: [{ createdAt: "asc" }, { id: "asc" }],
      });
      return rows.map(toRegistration);
    },
    async list(accountId, { includeRevoked }) {
      const rows = await prisma.registration.findMany({
        where: { accountId, ...(includeRevoked ? {} : { revokedAt: null }) },
        orderBy: [{ createdAt: "asc" }, { id: "asc" }],
      });
      return rows.map(toRegistration);
    },
    async touch(accountId, { algorithm, publicKey }, usedAt) {
      await prisma.registration.updateMany({
        where: {
          accountId,
          accountAlgorithm: algorithm,
          accountKey: publicKey,
          revokedAt: null,
          OR: [{ lastUsedAt: null }, { lastUsedAt: { lt: usedAt } }],
        },
        data: { lastUsedAt: usedAt },
      });
    },
  };
}
