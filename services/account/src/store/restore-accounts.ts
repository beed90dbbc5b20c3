import { NIL_UUID } from "@countersign/core";
import { MAX_ACCOUNTS_PER_CREATION } from "@countersign/flow";
import type { Found } from "@countersign/runtime";
import type { Prisma, PrismaClient } from "./generated/client.ts";
import { addressesOf, deployedEvent } from "./postgres-creation-store.ts";
import { alertEvent } from "./postgres-key-watch-store.ts";

type Tx = Prisma.TransactionClient;

interface Place {
  readonly chainName: string;
  readonly evmChainId: number;
  readonly now: Date;
}

/**
 * Records accounts that are on chain, and takes their deployments out of the queue: a second creation would
 * make a second account. A creation of which nothing was committed as signed may have been signed and lost,
 * so it ends, and the rest of its deployments is queued again; a signed one finds the accounts on chain
 * that its transaction created itself. Idempotent.
 */
export async function restoreAccounts(
  tx: Tx,
  found: readonly (Found & { evmAddress: string })[],
  { chainName, evmChainId, now }: Place,
): Promise<{ added: number; requeued: number }> {
  const signed = await tx.creation.findMany({ where: { chainName, state: "signed" }, select: { transactionId: true } });
  const ids = new Set(signed.map(({ transactionId }) => transactionId));
  let added = 0;
  for (const { accountId, address, evmAddress, userKey, transactionId } of found) {
    if (ids.has(transactionId)) continue;
    await tx.account.createMany({
      data: [{ id: accountId, profileImageUrl: "", createdAt: now, updatedAt: now }],
      skipDuplicates: true,
    });
    const { algorithm: userKeyAlgorithm, publicKey } = userKey;
    const deployed = { state: "deployed", creationId: null, lastError: "" };
    const key = { userKeyAlgorithm, userKey: publicKey, batchLimit: MAX_ACCOUNTS_PER_CREATION, queuedAt: now };
    await tx.deployment.upsert({
      where: { accountId_chainName: { accountId, chainName } },
      create: { accountId, chainName, ...key, ...deployed },
      update: deployed,
    });
    const addresses = addressesOf({ address, evmAddress }, chainName, evmChainId);
    const { count } = await tx.address.createMany({
      data: addresses.map((each) => ({ accountId, ...each })),
      skipDuplicates: true,
    });
    if (count === 0) continue;
    added += 1;
    await tx.outbox.create({ data: deployedEvent(accountId, now, addresses) });
  }
  const assigned = { chainName, state: "assigned" };
  const { count: requeued } = await tx.deployment.updateMany({
    where: { ...assigned, creation: { state: "assigned" } },
    data: { state: "queued", creationId: null },
  });
  await tx.proposalKey.updateMany({
    where: { creationId: { in: (await tx.creation.findMany({ where: assigned })).map(({ id }) => id) } },
    data: { creationId: null },
  });
  await tx.creation.updateMany({ where: assigned, data: { state: "failed" } });
  // The keys were used since.
  await tx.proposalKey.updateMany({ where: { chainName }, data: { nextSequenceNumber: null } });
  return { added, requeued };
}

/** Reads key events and settled budgets again from these blocks on; heights never move forward. */
export async function rewindHeights(
  prisma: PrismaClient,
  ranges: readonly { readonly chainName: string; readonly from: bigint }[],
): Promise<void> {
  for (const { chainName, from: height } of ranges) {
    const later = { where: { chainName, height: { gt: height } }, data: { height } };
    await prisma.$transaction([prisma.keyWatch.updateMany(later), prisma.budgetSettlement.updateMany(later)]);
  }
}

/** Emits the alerts since a time again, some at once: anybody may cause very many of his own account. */
export async function emitAlertsAgain(prisma: PrismaClient, since: Date): Promise<number> {
  let emitted = 0;
  for (let last = NIL_UUID; ; ) {
    const where = { raisedAt: { gte: since }, id: { gt: last } };
    const alerts = await prisma.chainAlert.findMany({ where, orderBy: { id: "asc" }, take: 1_000 });
    if (alerts.length === 0) return emitted;
    await prisma.outbox.createMany({ data: alerts.map(alertEvent), skipDuplicates: true });
    emitted += alerts.length;
    last = alerts.at(-1)!.id;
  }
}
