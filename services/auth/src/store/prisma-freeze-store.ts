import { BLOCK_SENT_MS } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import { queriesIn } from "@countersign/postgres";
import type { FreezeCommand, FreezeStore } from "../domain/freeze/freeze-account.ts";
import {
  deviceParty,
  type Freeze,
  type FreezeDecision,
  type FreezeFacts,
  type Party,
  RECOVERY_KEY,
  type UnfreezeRequest,
} from "../domain/freeze/freeze-rules.ts";
import { lockAccess } from "./begin-sessions.ts";
import { publishAccountFrozen, publishUnfreezeAsked, publishUnfreezeCancelled } from "./events.ts";
import type { FreezeParty, Prisma, PrismaClient } from "./generated/client.ts";
import { toKey } from "./rows.ts";
import { writeTokenState } from "./write-token-state.ts";

/**
 * Changes the account's entry in the token state; a lifted entry stays until every watcher has received it. A
 * freeze of an account that has left ends with its last token. The last statement of its transaction that
 * locks: see `writeTokenState`.
 */
export async function notifyServices(tx: Prisma.TransactionClient, accountId: string, active: boolean, now: Date) {
  const end = active ? { ...((await hasLeft(tx, accountId)) && { forMs: BLOCK_SENT_MS }) } : { until: now };
  await writeTokenState(queriesIn(tx), [{ kind: "account", accountId, subject: accountId, active, ...end }]);
}

/** Returns whether the account's server key was revoked on every chain. */
export const hasLeft = async (tx: Prisma.TransactionClient, accountId: string): Promise<boolean> =>
  (await tx.leftAccount.findUnique({ where: { accountId } })) !== null;

/** Returns whether a freeze or a hold stops signing for an account; leaving is not counted. */
export async function isFrozen(tx: Prisma.TransactionClient, accountId: string): Promise<boolean> {
  return (await tx.frozenAccount.findUnique({ where: { accountId } })) !== null || (await isHeld(tx, accountId));
}

/** Returns whether the chain watch holds the account until an operator lifts it. */
export const isHeld = async (tx: Prisma.TransactionClient, accountId: string): Promise<boolean> =>
  (await tx.accountHold.findFirst({ where: { accountId, liftedAt: null } })) !== null;

type Tx = Prisma.TransactionClient;

/** Returns those of the parties that were removed from the account: their keys are blocked. */
async function removedOf(tx: Tx, accountId: string, parties: readonly Party[], now: Date): Promise<Party[]> {
  const inEffect = { OR: [{ until: null }, { until: { gt: now } }] };
  const rows = await tx.blockedKey.findMany({ where: { accountId, ...inEffect } });
  const blocked = new Set(rows.map(({ algorithm, publicKey }) => deviceParty(toKey(algorithm, publicKey))));
  return parties.filter((party) => blocked.has(party));
}

/** Returns when auth first saw a device on the account; undefined for a device that was never there. */
export async function memberSince(
  tx: Tx,
  accountId: string,
  { algorithm, publicKey }: PublicKey,
): Promise<Date | undefined> {
  const [row] = await tx.$queryRaw<{ since: Date | null }[]>`
    SELECT min(at) AS since FROM (
      SELECT created_at AS at FROM session
        WHERE account_id = ${accountId}::uuid AND scope = 'full' AND device_key = ${publicKey} AND device_key_algorithm = ${algorithm}
      UNION ALL SELECT first_full_at FROM former_session
        WHERE account_id = ${accountId}::uuid AND device_key = ${publicKey} AND device_key_algorithm = ${algorithm}
      UNION ALL SELECT enrolled_at FROM two_factor_sign_in
        WHERE account_id = ${accountId}::uuid AND transaction_id IS NOT NULL AND device_key = ${publicKey} AND device_key_algorithm = ${algorithm}
      UNION ALL SELECT device_registered_at FROM sign_up
        WHERE account_id = ${accountId}::uuid AND device_key = ${publicKey} AND device_key_algorithm = ${algorithm}) AS seen`;
  return row?.since ?? undefined;
}

function toRequest({ party, timeLockId, askedAt, availableAt, lapsesAt }: FreezeParty): UnfreezeRequest[] {
  if (timeLockId === null || askedAt === null || availableAt === null || lapsesAt === null) return [];
  return [{ id: timeLockId, party, askedAt, availableAt, lapsesAt }];
}

async function findFreeze(tx: Tx, accountId: string, now: Date): Promise<Freeze | undefined> {
  const row = await tx.frozenAccount.findUnique({ where: { accountId } });
  if (!row) return undefined;
  const others = await tx.freezeParty.findMany({ where: { accountId }, orderBy: { party: "asc" } });
  const key = toKey(row.deviceKeyAlgorithm, row.deviceKey);
  const frozenBy = row.byRecoveryKey ? RECOVERY_KEY : deviceParty(key);
  return {
    frozenAt: row.frozenAt,
    frozenBy,
    frozenBySince: row.byRecoveryKey ? undefined : await memberSince(tx, accountId, key),
    joinedBy: others.filter(({ joinedAt }) => joinedAt !== null).map(({ party }) => party),
    requests: others.flatMap(toRequest),
    removed: await removedOf(tx, accountId, [frozenBy, ...others.map(({ party }) => party)], now),
  };
}

async function findFacts(tx: Tx, { accountId, by, key, now }: FreezeCommand): Promise<FreezeFacts> {
  const isRemoved = by !== RECOVERY_KEY && (await removedOf(tx, accountId, [by], now)).length > 0;
  return {
    freeze: await findFreeze(tx, accountId, now),
    recoveryLifts: (await tx.recoveryLift.findUnique({ where: { accountId } })) ?? undefined,
    held: await isHeld(tx, accountId),
    left: await hasLeft(tx, accountId),
    memberSince: by === RECOVERY_KEY || isRemoved ? undefined : await memberSince(tx, accountId, key),
  };
}

const NO_REQUEST = { timeLockId: null, askedAt: null, availableAt: null, lapsesAt: null };

async function write(tx: Tx, command: FreezeCommand, decision: FreezeDecision): Promise<void> {
  const { accountId, by, key, now } = command;
  const row = { accountId_party: { accountId, party: by } };
  switch (decision.type) {
    case "freeze": {
      const byRecoveryKey = by === RECOVERY_KEY;
      const set = { deviceKeyAlgorithm: key.algorithm, deviceKey: key.publicKey, byRecoveryKey, frozenAt: now };
      await tx.frozenAccount.create({ data: { accountId, ...set } });
      await notifyServices(tx, accountId, true, now);
      await publishAccountFrozen(tx, command, { frozen: true, cause: "user" });
      return;
    }
    case "join": {
      const cancelled = decision.cancels.map(({ party }) => party);
      await tx.freezeParty.updateMany({ where: { accountId, party: { in: cancelled } }, data: NO_REQUEST });
      await tx.freezeParty.upsert({
        where: row,
        create: { accountId, party: by, joinedAt: now },
        update: { joinedAt: now },
      });
      for (const request of decision.cancels) await publishUnfreezeCancelled(tx, command, request);
      return;
    }
    case "ask": {
      const { id: timeLockId, askedAt, availableAt, lapsesAt } = decision.request;
      const asked = { timeLockId, askedAt, availableAt, lapsesAt };
      await tx.freezeParty.upsert({ where: row, create: { accountId, party: by, ...asked }, update: asked });
      await publishUnfreezeAsked(tx, command, decision.request);
      return;
    }
    case "lift":
      if (decision.recoveryLifts) {
        const lifts = decision.recoveryLifts;
        await tx.recoveryLift.upsert({ where: { accountId }, create: { accountId, ...lifts }, update: lifts });
      }
      await tx.frozenAccount.delete({ where: { accountId } });
      await tx.freezeParty.deleteMany({ where: { accountId } });
      await notifyServices(tx, accountId, false, now);
      await publishAccountFrozen(tx, command, { frozen: false, cause: "user" });
  }
}

/** Keeps frozen accounts in Postgres. */
export function prismaFreezeStore(prisma: PrismaClient): FreezeStore {
  return {
    change: (command, decide) =>
      prisma.$transaction(async (tx) => {
        await lockAccess(queriesIn(tx), command.accountId);
        const decision = decide(await findFacts(tx, command));
        await write(tx, command, decision);
        return decision;
      }),

    find: (accountId, now) => findFreeze(prisma, accountId, now),
  };
}
