import { lockAccount, queriesIn } from "@countersign/postgres";
import type { EffectStore } from "../domain/ports.ts";
import type { Binding } from "../policy/account.ts";
import type { Effect } from "../policy/effects.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";
import type { KnownBindings } from "./known-bindings.ts";
import {
  countOtherDeviceApprovedKeys,
  countOtherRecoveryKeys,
  prismaAddedKeys,
  prismaRecoveryKeys,
  prismaRevokedKeys,
  rolesOf,
} from "./prisma-key-history.ts";
import { recordSequenceNumber } from "./prisma-signed-templates.ts";

/** The database refused an effect: rolls the transaction back. */
class RefusedEffect extends Error {
  readonly effect: Effect;
  constructor(effect: Effect) {
    super(effect.kind);
    this.effect = effect;
  }
}

/**
 * Kinds that count or compare rows of the account: under its lock, of two that are requested at once through
 * two replicas the later one sees the earlier one's commit, also of the addition and the revocation of a key.
 */
const LOCKING: ReadonlySet<Effect["kind"]> = new Set([
  "not-revoked",
  "one-role",
  "recovery-key",
  "revocation",
  "sequence-number",
  "device-approved-key",
]);

/** Counts one more use; false, and nothing counted, at the limit: also of racing uses over all replicas. */
export async function useEphemeralToken(
  tx: Pick<Prisma.TransactionClient, "$executeRaw">,
  { sessionId, operation, limit }: Omit<Extract<Effect, { kind: "ephemeral-use" }>, "kind">,
  now: Date,
): Promise<boolean> {
  const counted = await tx.$executeRaw`
    INSERT INTO ephemeral_use (request_id, operation, count, updated_at)
    VALUES (${sessionId}::uuid, ${operation}, 1, ${now})
    ON CONFLICT (request_id, operation) DO UPDATE SET count = ephemeral_use.count + 1, updated_at = ${now}
    WHERE ephemeral_use.count < ${limit}`;
  return counted === 1;
}

/** Writes one effect; false where its limit or condition is not met. */
async function write(tx: Prisma.TransactionClient, account: Binding, effect: Effect, now: Date): Promise<boolean> {
  switch (effect.kind) {
    case "not-revoked":
      return !(await prismaRevokedKeys(tx).forbidAddition(account, effect.publicKey, effect));
    case "one-role": {
      const { isUserKey, isRecoveryKey } = await rolesOf(tx, account, effect.publicKey);
      return effect.isUserKey ? !isRecoveryKey : !isUserKey;
    }
    case "recovery-key":
      if ((await countOtherRecoveryKeys(tx, account, effect)) >= effect.limit) return false;
      await prismaRecoveryKeys(tx).record(account, effect.key, now);
      return true;
    case "revocation":
      await prismaRevokedKeys(tx).record(account, effect, now);
      return true;
    case "sequence-number":
      return recordSequenceNumber(tx, account, effect, now);
    case "device-approved-key":
      return (await countOtherDeviceApprovedKeys(tx, account, effect)) < effect.limit;
    case "key-addition":
      if (effect.source === "recovery") await prismaRevokedKeys(tx).forget(account, effect.key.publicKey);
      return prismaAddedKeys(tx).record(account, effect, now);
    case "ephemeral-use":
      return useEphemeralToken(tx, effect, now);
    case "rotation": {
      const { accountId, chainName } = account;
      const rotation = { accountId, chainName, serverKeyVersion: effect.version, createdAt: now };
      await tx.serverKeyRotation.createMany({ data: [rotation], skipDuplicates: true });
      return true;
    }
  }
}

/**
 * Records effects of signatures in Postgres. Every transaction writes in the order in which policy/effects.ts
 * lists the kinds, so that two replicas never wait for each other's rows.
 */
export function prismaEffectStore(
  prisma: PrismaClient,
  bindings: Pick<KnownBindings, "forgetEverywhere">,
): EffectStore {
  return {
    async record(account, effects, now) {
      const isLocking = effects.some(({ kind }) => LOCKING.has(kind));
      const writeAll = async (tx: Prisma.TransactionClient) => {
        if (isLocking) await lockAccount(queriesIn(tx), account.accountId);
        for (const effect of effects) if (!(await write(tx, account, effect, now))) throw new RefusedEffect(effect);
      };
      // One statement is a transaction by itself.
      const needsTransaction = effects.length > 1 || isLocking;
      try {
        await (needsTransaction ? prisma.$transaction(writeAll) : writeAll(prisma));
      } catch (error) {
        if (error instanceof RefusedEffect) return error.effect;
        throw error;
      }
      // Before the rotation can be on chain, every replica reads the account's bindings each time.
      if (effects.some(({ kind }) => kind === "rotation")) await bindings.forgetEverywhere(account.accountId);
      return undefined;
    },
  };
}
