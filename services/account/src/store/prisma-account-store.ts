import { MAX_ACCOUNTS_PER_CREATION } from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import type { AccountAddress, AccountDeployment } from "../domain/account.ts";
import type { AccountStore } from "../domain/ports.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";

const include = (chainName: string) =>
  ({
    addresses: { orderBy: [{ chainName: "asc" }, { chainType: "asc" }] },
    deployments: { where: { chainName }, include: { creation: { select: { transactionId: true } } } },
  }) satisfies Prisma.AccountInclude;

type Row = Prisma.AccountGetPayload<{ include: ReturnType<typeof include> }>;

function toAccountDeployment({ deployments: [deployment], addresses, ...account }: Row): AccountDeployment {
  return {
    account: {
      ...account,
      addresses: addresses.map(({ chainName, chainType, address, chainId }) => ({
        chainName,
        chainType: chainType as AccountAddress["chainType"],
        address,
        chainId,
      })),
    },
    deployment: deployment && {
      accountId: deployment.accountId,
      chainName: deployment.chainName,
      userKey: { algorithm: deployment.userKeyAlgorithm as PublicKey["algorithm"], publicKey: deployment.userKey },
      state: deployment.state as "queued" | "assigned" | "deployed" | "failed",
      transactionId: deployment.creation?.transactionId ?? "",
      lastError: deployment.lastError,
    },
  };
}

/** Accounts in Postgres. */
export function prismaAccountStore(prisma: PrismaClient): AccountStore {
  const find: AccountStore["find"] = async (accountId, chainName) => {
    const row = await prisma.account.findUnique({ where: { id: accountId }, include: include(chainName) });
    return row ? toAccountDeployment(row) : undefined;
  };

  return {
    find,
    async queue({ accountId, chainName, userKey, profileImageUrl }, now) {
      await prisma.$transaction(async (tx) => {
        await tx.account.createMany({
          data: [{ id: accountId, profileImageUrl, createdAt: now, updatedAt: now }],
          skipDuplicates: true,
        });
        const { count: added } = await tx.deployment.createMany({
          data: [
            {
              accountId,
              chainName,
              userKeyAlgorithm: userKey.algorithm,
              userKey: userKey.publicKey,
              state: "queued",
              batchLimit: MAX_ACCOUNTS_PER_CREATION,
              queuedAt: now,
            },
          ],
          skipDuplicates: true,
        });
        const { count: again } = await tx.deployment.updateMany({
          where: { accountId, chainName, state: "failed", userKey: userKey.publicKey },
          data: { state: "queued", queuedAt: now, creationId: null },
        });
        if (added + again > 0) await tx.$executeRaw`SELECT pg_notify('creation', '')`;
      });
      return (await find(accountId, chainName))!;
    },
  };
}
