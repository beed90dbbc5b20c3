import { outboxRow } from "@countersign/outbox";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { uuidv7 } from "@countersign/service-kit";
import type { AccountOnChain, BindingStore } from "../domain/ports.ts";
import type { Binding } from "../policy/account.ts";
import type { BindingVersion, Prisma, PrismaClient, Binding as Row, ServerKeyRotation } from "./generated/client.ts";

const CACHED_ACCOUNTS = 50_000;
const LATER = {
  versions: { orderBy: { serverKeyVersion: "asc" } },
  rotations: { orderBy: { serverKeyVersion: "desc" }, take: 1 },
} as const;

type WholeRow = Row & { versions: BindingVersion[]; rotations: ServerKeyRotation[] };

function toBinding({ createdAt: boundAt, versions, rotations, ...binding }: WholeRow): Binding {
  const first = { index: binding.serverKeyIndex, version: binding.serverKeyVersion };
  const later = versions.map(({ serverKeyIndex: index, serverKeyVersion: version }) => ({ index, version }));
  const retired = [first, ...later];
  const current = retired.pop() ?? first;
  const begun = rotations[0]?.serverKeyVersion ?? 0;
  return {
    ...binding,
    boundAt,
    serverKeyIndex: current.index,
    serverKeyVersion: current.version,
    ...(retired.length > 0 && { retired }),
    ...(begun > current.version && { rotatingTo: begun }),
  };
}

export interface PrismaBindingStore extends BindingStore {
  /** An account's bindings changed; "" for nobody knows whose. For the listener on `binding_changed`. */
  forget(accountId: string): void;
}

/**
 * Bindings in Postgres. They change only by a rotation, which all replicas are told of before it is signed: what was found is remembered while they listen (`listening`), but
 * not while a rotation is on its way.
 */
export function prismaBindingStore(prisma: PrismaClient, listening: () => boolean = () => false): PrismaBindingStore {
  const cache = new Map<string, Binding[]>();
  let changes = 0;
  const forget = (accountId: string): void => {
    changes += 1;
    if (accountId === "") cache.clear();
    else cache.delete(accountId);
  };
  const findOne = async (accountId: string, chainName: string): Promise<Binding | undefined> => {
    const where = { accountId_chainName: { accountId, chainName } };
    const row = await prisma.binding.findUnique({ where, include: LATER });
    return row ? toBinding(row) : undefined;
  };

  /** Changes of an account's versions wait for each other, on any replica: their conditions see what the one before has done. */
  const change = async (
    { accountId, chainName }: AccountOnChain,
    work: (tx: Prisma.TransactionClient) => Promise<unknown>,
  ): Promise<Binding | undefined> => {
    await prisma.$transaction(async (tx) => {
      await tx.$executeRaw`
        SELECT 1 FROM binding WHERE account_id = ${accountId}::uuid AND chain_name = ${chainName} FOR NO KEY UPDATE`;
      await work(tx);
    });
    forget(accountId);
    return findOne(accountId, chainName);
  };

  return {
    forget,

    async find(accountId) {
      const known = listening() ? cache.get(accountId) : undefined;
      if (known) return known;
      const before = changes;
      const rows = await prisma.binding.findMany({
        where: { accountId },
        include: LATER,
        orderBy: { createdAt: "asc" },
      });
      const found = rows.map(toBinding);
      const isSettled = found.length > 0 && found.every(({ rotatingTo }) => rotatingTo === undefined);
      // A change while we were reading may be one that we did not see.
      if (isSettled && changes === before && listening()) {
        cache.set(accountId, found);
        // A second net below the notifications.
        setTimeout(() => cache.delete(accountId), 5_000).unref();
        if (cache.size > CACHED_ACCOUNTS) cache.delete(cache.keys().next().value!);
      }
      return found;
    },

    async insert(binding, { now, requestId }) {
      const { accountId, chainName, address, serverKeyIndex, serverKeyVersion } = binding;
      const id = uuidv7({ now: () => now });
      const message = Event.encode({
        id,
        occurredAt: now,
        accountId,
        requestId,
        addressBound: { chainName, address },
      }).finish();
      const event = outboxRow({ service: "signer", accountId, event: "address-bound", message, id, createdAt: now });
      const inserted = await prisma.$executeRaw`
        WITH bound AS (
          INSERT INTO binding (account_id, chain_name, address, server_key_index, server_key_version, created_at)
          VALUES (${accountId}::uuid, ${chainName}, ${address}, ${serverKeyIndex}, ${serverKeyVersion}, ${now})
          ON CONFLICT DO NOTHING RETURNING 1)
        INSERT INTO outbox (id, subject, payload, created_at)
        SELECT ${event.id}::uuid, ${event.subject}, ${event.payload}, ${event.createdAt} FROM bound`;
      if (inserted === 1) {
        forget(accountId);
        return binding;
      }
      // As it was bound, whatever key it has by now: an account that was rotated since is still the same binding.
      const row = await prisma.binding.findUnique({ where: { accountId_chainName: { accountId, chainName } } });
      return row ? toBinding({ ...row, versions: [], rotations: [] }) : undefined;
    },

    async beginRotation({ accountId, chainName }, serverKeyVersion, now) {
      await prisma.serverKeyRotation.createMany({
        data: [{ accountId, chainName, serverKeyVersion, createdAt: now }],
        skipDuplicates: true,
      });
      forget(accountId);
    },

    appendVersion: ({ accountId, chainName }, { index, version }, now) =>
      change(
        { accountId, chainName },
        (tx) => tx.$executeRaw`
          INSERT INTO binding_version (account_id, chain_name, server_key_version, server_key_index, created_at)
          SELECT account_id, chain_name, server_key_version, ${index}, ${now} FROM server_key_rotation
          WHERE account_id = ${accountId}::uuid AND chain_name = ${chainName} AND server_key_version = ${version}
            AND (SELECT max(p.server_key_version) = ${version}::int - 1 AND max(p.server_key_index) < ${index}::int FROM (
              SELECT server_key_version, server_key_index FROM binding
                WHERE account_id = ${accountId}::uuid AND chain_name = ${chainName}
              UNION ALL SELECT server_key_version, server_key_index FROM binding_version
                WHERE account_id = ${accountId}::uuid AND chain_name = ${chainName}) p)
          ON CONFLICT DO NOTHING`,
      ),

    moveVersion: ({ accountId, chainName }, { index, version }) =>
      change(
        { accountId, chainName },
        (tx) => tx.$executeRaw`
          UPDATE binding_version v SET server_key_index = ${index}
          WHERE account_id = ${accountId}::uuid AND chain_name = ${chainName} AND server_key_version = ${version}
            AND NOT EXISTS (SELECT FROM binding b WHERE b.account_id = v.account_id AND b.chain_name = v.chain_name
              AND b.server_key_index >= ${index}::int)
            AND NOT EXISTS (SELECT FROM binding_version o WHERE o.account_id = v.account_id AND o.chain_name = v.chain_name
              AND (o.server_key_version < v.server_key_version AND o.server_key_index >= ${index}::int
                OR o.server_key_version > v.server_key_version AND o.server_key_index <= ${index}::int))`,
      ),

    takeBackVersion: ({ accountId, chainName }, version) =>
      change(
        { accountId, chainName },
        (tx) => tx.$executeRaw`
          DELETE FROM binding_version v
          WHERE account_id = ${accountId}::uuid AND chain_name = ${chainName} AND server_key_version = ${version}
            AND NOT EXISTS (SELECT FROM binding_version o WHERE o.account_id = v.account_id AND o.chain_name = v.chain_name
              AND o.server_key_version > v.server_key_version)`,
      ),

    async bound(chainName, accountIds) {
      const rows = await prisma.binding.findMany({
        where: { chainName, accountId: { in: [...accountIds] } },
        select: { accountId: true },
      });
      return rows.map((row) => row.accountId);
    },
  };
}
