import { eventRow } from "@countersign/events";
import { type Postgres, sql } from "@countersign/postgres";
import type { ChainLine, Found } from "@countersign/runtime";
import type { Prisma, PrismaClient } from "./generated/client.ts";
import { postgresBindingStore } from "./postgres-binding-store.ts";
import { postgresSignedCreations } from "./postgres-signed-creations.ts";
import { prismaRecoveryKeys, xOf } from "./prisma-key-history.ts";

type Changed = Extract<ChainLine, { kind: "keys" }> & { accountId: string };

/**
 * Records an account that is on chain as created and bound; false where another account has its address. It
 * counts as bound when the database went back, which is earlier than it was: a young account changes its
 * recovery key without a time lock.
 */
export async function restoreBinding(postgres: Postgres, found: Found, { now, since }: { now: Date; since: Date }) {
  const { accountId, chainName, address, serverKeyIndex, serverKeyVersion, userKey } = found;
  const accounts = [{ accountId, userKey }];
  await postgresSignedCreations(postgres).record({ chainName, serverKeyVersion, accounts }, now);
  const binding = { accountId, chainName, address, serverKeyIndex, serverKeyVersion, boundAt: since };
  const present = await postgresBindingStore(postgres).insert(binding, { now, requestId: "" });
  return present?.address === address;
}

/**
 * Records what the chain shows of signatures that were lost: further versions of the server key, keys that
 * the service added, and revoked keys. An added key counts as added now.
 */
export async function restoreKeys(
  prisma: PrismaClient,
  { accountId, chainName, keys }: Changed,
  versionOf: (serverKey: string) => Promise<number | undefined>,
  now: Date,
): Promise<void> {
  const place = { accountId, chainName };
  if ((await prisma.binding.count({ where: place })) === 0) return;
  const revokedKeys: Prisma.RevokedKeyCreateManyInput[] = [];
  for (const { index, publicKey, algorithm, role, revoked, ours } of keys) {
    const serverKeyVersion = role === "server" && index > 0 ? await versionOf(publicKey) : undefined;
    if (serverKeyVersion !== undefined) {
      const version = { ...place, serverKeyVersion, createdAt: now };
      await prisma.serverKeyRotation.createMany({ data: [version], skipDuplicates: true });
      await prisma.bindingVersion.createMany({ data: [{ ...version, serverKeyIndex: index }], skipDuplicates: true });
    }
    if (algorithm === undefined || (role !== "user" && role !== "recovery")) continue;
    const key = { publicKey, algorithm };
    if (ours && role === "recovery") await prismaRecoveryKeys(prisma).record(place, key, now);
    if (ours && role === "user" && index > 1) {
      const added = { ...place, keyX: xOf(publicKey), ...key, source: "device", firstSignedAt: now };
      await prisma.addedKey.createMany({ data: [{ ...added, signedAt: now }], skipDuplicates: true });
    }
    if (revoked) revokedKeys.push({ ...place, keyX: xOf(publicKey), signedAt: now });
  }
  // At once: of an account whose owner has added and revoked thousands.
  await prisma.revokedKey.createMany({ data: revokedKeys, skipDuplicates: true });
}

/**
 * Begins every running time lock again: one that was cancelled since must not be granted. Its owner is
 * notified once more and may cancel it. Returns how many.
 */
export async function restartTimeLocks(tx: Prisma.TransactionClient, now: Date): Promise<number> {
  const running = await tx.timeLock.findMany({ where: { cancelledAt: null, lapsesAt: { gt: now } } });
  for (const { id, accountId, chainName, operation, startedAt, ...row } of running) {
    const later = (date: Date) => new Date(date.getTime() + now.getTime() - startedAt.getTime());
    const [availableAt, lapsesAt] = [later(row.availableAt), later(row.lapsesAt)];
    await tx.timeLock.update({
      where: { accountId_chainName_operation: { accountId, chainName, operation } },
      data: { startedAt: now, availableAt, lapsesAt },
    });
    const timeLockStarted = { id, operation, availableAt, chainName };
    const event = eventRow("signer", "time-lock-started", { accountId, occurredAt: now }, { timeLockStarted });
    await tx.outbox.create({ data: event });
  }
  return running.length;
}

/** Returns the accounts that are bound to an address already. */
export const boundAt = (postgres: Postgres, chainName: string, address: string) =>
  postgres.query<{ accountId: string }>(sql`
    SELECT account_id AS "accountId" FROM binding WHERE chain_name = ${chainName} AND address = ${address}`);
