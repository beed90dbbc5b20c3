import type { PublicKey } from "@countersign/keys";
import type { KeyAddition, KeyAdditionState, KeyAdditionStore } from "../domain/key-additions/key-addition.ts";
import type { PrismaClient, KeyAddition as Row } from "./generated/client.ts";
import { transactionFromJson, transactionToJson } from "./transaction-json.ts";

const toKeyAddition = ({ createdAt: _, userKeyAlgorithm, userKey, transaction, state, ...row }: Row): KeyAddition => ({
  ...row,
  state: state as KeyAdditionState,
  userKey: { algorithm: userKeyAlgorithm as PublicKey["algorithm"], publicKey: userKey },
  transaction: transaction === null ? undefined : transactionFromJson(transaction),
});

/** Keeps attempts to add a key in Postgres: of two that commit under one id, the first stays. */
export function prismaKeyAdditionStore(prisma: PrismaClient): KeyAdditionStore {
  const find: KeyAdditionStore["find"] = async (attemptId) => {
    const row = await prisma.keyAddition.findUnique({ where: { attemptId } });
    return row ? toKeyAddition(row) : undefined;
  };
  return {
    find,
    async commit({ userKey, transaction, ...addition }, now) {
      await prisma.keyAddition.createMany({
        data: [
          {
            ...addition,
            userKeyAlgorithm: userKey.algorithm,
            userKey: userKey.publicKey,
            ...(transaction && { transaction: transactionToJson(transaction) }),
            createdAt: now,
          },
        ],
        skipDuplicates: true,
      });
      return (await find(addition.attemptId))!;
    },
    async finish(attemptId, end) {
      await prisma.keyAddition.updateMany({ where: { attemptId, state: "submitted" }, data: end });
    },
  };
}
