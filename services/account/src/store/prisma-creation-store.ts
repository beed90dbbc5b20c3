import { parseTraceParent, uuidv7 } from "@countersign/core";
import { eventRow } from "@countersign/events";
import { MAX_ACCOUNTS_PER_CREATION } from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import type { AccountAddress } from "../domain/accounts/account.ts";
import { NO_PROFILE } from "../domain/accounts/profiles.ts";
import type { CreatedAccount, Creation, CreationState } from "../domain/creations/creation.ts";
import type { CreationStore, Lease } from "../domain/ports.ts";
import { addressToProto, transactionToProto } from "../to-proto.ts";
import type { Prisma, PrismaClient, Creation as Row } from "./generated/client.ts";
import { transactionFromJson, transactionToJson } from "./transaction-json.ts";

export interface CreationStoreOptions {
  transactionUrl(chainName: string, id: string): string;
  /** The first of the creator's keys that proposes: those before were rotated out. Default 0. */
  firstKeyId?(chainName: string): number | undefined;
}

type Tx = Prisma.TransactionClient;

async function toCreation(tx: Tx, row: Row): Promise<Creation> {
  const { id, chainName, accountIds } = row;
  const deployments = await tx.deployment.findMany({ where: { chainName, accountId: { in: accountIds } } });
  const keys = new Map(deployments.map((each) => [each.accountId, each]));
  return {
    id,
    chainName,
    keyIndex: row.keyIndex,
    sequenceNumber: row.sequenceNumber ?? undefined,
    state: row.state as CreationState,
    accountIds,
    serverKeys: row.serverKeys,
    serverKeyVersion: row.serverKeyVersion,
    userKeys: accountIds.map((accountId) => {
      const { userKeyAlgorithm, userKey } = keys.get(accountId)!;
      return { algorithm: userKeyAlgorithm as PublicKey["algorithm"], publicKey: userKey };
    }),
    traces: accountIds.flatMap((accountId) => parseTraceParent(keys.get(accountId)!.traceparent) ?? []),
    transaction: row.transaction === null ? undefined : transactionFromJson(row.transaction),
    transactionId: row.transactionId,
    referenceHeight: row.referenceHeight ?? undefined,
  };
}

/** Frees the proposal key. */
async function release(tx: Tx, { id }: Pick<Row, "id">): Promise<void> {
  await tx.proposalKey.updateMany({ where: { creationId: id }, data: { creationId: null } });
}

/** Locks a creation that the owner still holds in one of these states. */
async function lockHeld(tx: Tx, id: string, owner: string, states: readonly CreationState[]): Promise<Row | undefined> {
  await tx.$executeRaw`SELECT 1 FROM creation WHERE id = ${id}::uuid FOR UPDATE`;
  const row = await tx.creation.findUnique({ where: { id } });
  return row && row.leaseOwner === owner && states.includes(row.state as CreationState) ? row : undefined;
}

const addressesOf = (created: CreatedAccount, chainName: string, chainId: number): AccountAddress[] => [
  { chainName, chainType: "cadence", address: created.address, chainId },
  { chainName, chainType: "evm", address: created.evmAddress, chainId },
];

/** Keeps creations in Postgres: the database decides who holds which deployment, key and creation. */
export function prismaCreationStore(prisma: PrismaClient, options: CreationStoreOptions): CreationStore {
  const { transactionUrl, firstKeyId } = options;
  return {
    assign: (chainName, { owner, now, until }: Lease) =>
      prisma.$transaction(async (tx) => {
        // One assignment of a chain at a time: two would choose the same deployments.
        await tx.$executeRaw`
          SELECT 1 FROM proposal_key WHERE chain_name = ${chainName} ORDER BY key_index LIMIT 1 FOR UPDATE`;
        const waiting = await tx.deployment.findMany({
          where: { state: "queued", chainName },
          orderBy: [{ batchLimit: "asc" }, { queuedAt: "asc" }],
          select: { accountId: true, batchLimit: true },
          take: MAX_ACCOUNTS_PER_CREATION,
        });
        const [first] = waiting;
        if (!first) return undefined;
        const [key] = await tx.$queryRaw<{ key_index: number }[]>`
          SELECT key_index FROM proposal_key WHERE chain_name = ${chainName} AND creation_id IS NULL AND key_index >= ${firstKeyId?.(chainName) ?? 0}
          ORDER BY key_index LIMIT 1 FOR UPDATE SKIP LOCKED`;
        if (!key) return undefined;
        // The smallest limit comes first: halves of a failed batch stay separate from other deployments.
        const chosen = waiting
          .filter((each) => each.batchLimit === first.batchLimit)
          .slice(0, first.batchLimit)
          .map((each) => each.accountId);
        const { id } = await tx.creation.create({
          data: {
            id: uuidv7({ now: () => now }),
            chainName,
            keyIndex: key.key_index,
            accountIds: [],
            serverKeys: [],
            state: "assigned",
            leaseOwner: owner,
            leaseUntil: until,
            createdAt: now,
          },
        });
        await tx.proposalKey.update({
          where: { chainName_keyIndex: { chainName, keyIndex: key.key_index } },
          data: { creationId: id },
        });
        const assigned = await tx.deployment.updateManyAndReturn({
          where: { chainName, accountId: { in: chosen }, state: "queued" },
          data: { state: "assigned", creationId: id },
          select: { accountId: true },
        });
        // A deployment may have been cancelled meanwhile.
        const accountIds = assigned.map(({ accountId }) => accountId);
        if (accountIds.length > 0)
          return toCreation(tx, await tx.creation.update({ where: { id }, data: { accountIds } }));
        await tx.proposalKey.updateMany({ where: { creationId: id }, data: { creationId: null } });
        await tx.creation.delete({ where: { id } });
        return undefined;
      }),

    takeOver: ({ owner, now, until }) =>
      prisma.$transaction(async (tx) => {
        const [found] = await tx.$queryRaw<{ id: string }[]>`
          SELECT id FROM creation WHERE state IN ('assigned', 'signed') AND lease_until < ${now}
          ORDER BY created_at LIMIT 1 FOR UPDATE SKIP LOCKED`;
        if (!found) return undefined;
        const row = await tx.creation.update({
          where: { id: found.id },
          data: { leaseOwner: owner, leaseUntil: until },
        });
        return toCreation(tx, row);
      }),

    async moveLeaseEnd(id, { owner, until }) {
      const { count } = await prisma.creation.updateMany({
        where: { id, leaseOwner: owner },
        data: { leaseUntil: until },
      });
      return count === 1;
    },

    async signed(id, owner, { transaction, serverKeys, ...signed }) {
      const { count } = await prisma.creation.updateMany({
        where: { id, leaseOwner: owner, state: "assigned" },
        data: { ...signed, serverKeys: [...serverKeys], transaction: transactionToJson(transaction), state: "signed" },
      });
      return count === 1;
    },

    async replace(id, owner) {
      const { count } = await prisma.creation.updateMany({
        where: { id, leaseOwner: owner, state: "signed" },
        data: { state: "assigned", serverKeys: [] },
      });
      return count === 1;
    },

    sealed: (id, owner, created, { evmChainId, now }) =>
      prisma.$transaction(async (tx) => {
        const row = await lockHeld(tx, id, owner, ["signed"]);
        if (!row) return false;
        const { chainName, transactionId } = row;
        const accountIds = created.map(({ accountId }) => accountId);
        const addresses = created.map((each) => addressesOf(each, chainName, evmChainId));
        await tx.address.createMany({
          data: created.flatMap(({ accountId }, i) => addresses[i]!.map((address) => ({ accountId, ...address }))),
        });
        await tx.deployment.updateMany({
          where: { chainName, accountId: { in: accountIds } },
          data: { state: "deployed", lastError: "" },
        });
        await tx.account.updateMany({ where: { id: { in: accountIds } }, data: { updatedAt: now } });
        await tx.creation.update({ where: { id }, data: { state: "sealed" } });
        const transaction = transactionToProto(transactionId, chainName, transactionUrl);
        await tx.outbox.createMany({
          data: created.map(({ accountId }, i) => {
            const accountDeployed = {
              addresses: addresses[i]!.map((each) => addressToProto(each, NO_PROFILE)),
              transaction,
            };
            return eventRow("account", "account-deployed", { accountId, occurredAt: now }, { accountDeployed });
          }),
        });
        await release(tx, row);
        return true;
      }),

    failed: (id, owner, plan, cause) =>
      prisma.$transaction(async (tx) => {
        const row = await lockHeld(tx, id, owner, ["assigned", "signed"]);
        if (!row) return false;
        await tx.creation.update({ where: { id }, data: { state: "failed" } });
        await tx.deployment.updateMany({
          where: { chainName: row.chainName, creationId: id },
          data: {
            lastError: cause,
            ...("failed" in plan ? { state: "failed" } : { state: "queued", batchLimit: plan.requeueWithLimit }),
          },
        });
        await release(tx, row);
        return true;
      }),
  };
}

/** Makes the rows of a chain's proposal keys; the same again changes nothing. */
export async function ensureProposalKeys(prisma: PrismaClient, chainName: string, keyCount: number): Promise<void> {
  const data = Array.from({ length: keyCount }, (_, keyIndex) => ({ chainName, keyIndex }));
  await prisma.proposalKey.createMany({ data, skipDuplicates: true });
}
