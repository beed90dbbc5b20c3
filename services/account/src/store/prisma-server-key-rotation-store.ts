import type {
  ServerKeyRotation,
  ServerKeyRotationState,
  ServerKeyRotationStore,
} from "../domain/server-keys/server-key-rotation.ts";
import type { PrismaClient, ServerKeyRotation as Row } from "./generated/client.ts";
import { transactionFromJson, transactionToJson } from "./transaction-json.ts";

const toRotation = ({ createdAt: _, transaction, state, ...row }: Row): ServerKeyRotation => ({
  ...row,
  state: state as ServerKeyRotationState,
  transaction: transactionFromJson(transaction),
});

/**
 * Keeps rotations of server keys in Postgres: of two that commit for one version the first stays, until it
 * fails.
 */
export function prismaServerKeyRotationStore(prisma: PrismaClient): ServerKeyRotationStore {
  const key = ({ accountId, chainName, version }: ServerKeyRotation) => ({ accountId, chainName, version });
  return {
    async newest(accountId, chainName) {
      const row = await prisma.serverKeyRotation.findFirst({
        where: { accountId, chainName },
        orderBy: { version: "desc" },
      });
      return row ? toRotation(row) : undefined;
    },
    async commit(rotation, now) {
      const { transaction, ...columns } = rotation;
      const data = { ...columns, transaction: transactionToJson(transaction), createdAt: now };
      const { count } = await prisma.serverKeyRotation.createMany({ data: [data], skipDuplicates: true });
      if (count === 0) {
        // One statement: of two that follow a failed one, the second finds it submitted.
        await prisma.serverKeyRotation.updateMany({ where: { ...key(rotation), state: "failed" }, data });
      }
      const where = { accountId_chainName_version: key(rotation) };
      return toRotation(await prisma.serverKeyRotation.findUniqueOrThrow({ where }));
    },
    async finish(rotation, state) {
      // The same bytes only: a failed rotation may have been followed by another one.
      const { transactionId } = rotation;
      const where = { ...key(rotation), transactionId, state: "submitted" };
      await prisma.serverKeyRotation.updateMany({ where, data: { state } });
    },
    async open(chainName, limit, { before, skip = 0 } = {}) {
      const rows = await prisma.serverKeyRotation.findMany({
        where: { chainName, state: "submitted", ...(before && { createdAt: { lt: before } }) },
        orderBy: { createdAt: "asc" },
        skip,
        take: limit,
      });
      return rows.map(toRotation);
    },
  };
}
