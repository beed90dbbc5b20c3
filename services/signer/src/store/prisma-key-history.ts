import type { PublicKey } from "@countersign/keys";
import { queriesIn, sqlFile } from "@countersign/postgres";
import type { AccountOnChain, AddedKeys } from "../domain/ports.ts";
import type { AddedBy, DeviceApprovedKey, KeyAddition, RecoveryKeySlot, Revocation } from "../policy/effects.ts";
import type { KeySource } from "../policy/user-keys.ts";
import { Prisma } from "./generated/client.ts";

/** Returns the x of a key: a key and its negation have one holder, and one x. */
export const xOf = (publicKey: string): string => publicKey.slice(0, 64);

interface Row {
  publicKey: string;
  algorithm: PublicKey["algorithm"];
  source: KeySource;
  firstSignedAt: Date;
  signedAt: Date;
  revoked: boolean;
}

/** Reads the account's user keys, or the one with this x. */
async function readAdded(
  prisma: Pick<Prisma.TransactionClient, "$queryRaw">,
  { accountId, chainName }: AccountOnChain,
  x?: string,
): ReturnType<AddedKeys["of"]> {
  const rows = await prisma.$queryRaw<Row[]>`
    SELECT k.public_key AS "publicKey", k.algorithm, k.source, k.first_signed_at AS "firstSignedAt",
      k.signed_at AS "signedAt", r.key_x IS NOT NULL AS revoked
    FROM added_key k LEFT JOIN revoked_key r USING (account_id, chain_name, key_x)
    WHERE k.account_id = ${accountId}::uuid AND k.chain_name = ${chainName}
      ${x === undefined ? Prisma.empty : Prisma.sql`AND k.key_x = ${x}`} ORDER BY k.first_signed_at`;
  return rows.map(({ publicKey, algorithm, ...row }) => ({ ...row, key: { publicKey, algorithm } }));
}

/**
 * Rows of keys that are not known have this in place of the chain's name: the version before, beside which
 * this one runs in a roll-out, takes each row of the chain for a known key.
 */
const unknownOn = (chainName: string): string => `${chainName} unknown`;

const recordStatement = sqlFile(new URL("../../sql/record-added-key.sql", import.meta.url));

/** Keeps user keys in Postgres: an addition that one replica has signed is known to every other one. */
export const prismaAddedKeys = (
  prisma: Pick<
    Prisma.TransactionClient,
    "addedKey" | "recoveryKey" | "$executeRawUnsafe" | "$queryRaw" | "$queryRawUnsafe"
  >,
) => ({
  /**
   * Records an addition. Signed again, the key counts as added now, but keeps the source `creation` or
   * `recovery`. Returns false, and changes nothing, where a known key is neither renewable nor approved by an
   * older key or by a recovery key: a young device could make an older one count as young.
   */
  async record(account: AccountOnChain, addition: KeyAddition, now: Date): Promise<boolean> {
    const { key, source, approver, renewableSince, approverSince } = addition;
    const { accountId, chainName } = account;
    const { publicKey, algorithm } = key;
    const unknown = { accountId, chainName: unknownOn(chainName), keyX: xOf(publicKey) };
    const staysUnknown = source === "unknown" && !(await rolesOf(prisma, account, publicKey)).isUserKey;
    // No limit counts the keys that a recovery key approves.
    if (staysUnknown && approver === undefined) return true;
    await prisma.addedKey.deleteMany({ where: unknown });
    const recorded = await queriesIn(prisma).execute(
      recordStatement({
        ...unknown,
        ...(!staysUnknown && { chainName }),
        publicKey,
        algorithm,
        source: source === "unknown" ? "device" : source,
        approverX: approver === undefined ? null : xOf(approver),
        renewableSince,
        approverSince: approverSince ?? null,
        now,
      }),
    );
    return recorded === 1;
  },

  of: (account: AccountOnChain): ReturnType<AddedKeys["of"]> => readAdded(prisma, account),

  find: async (account: AccountOnChain, publicKey: string): ReturnType<AddedKeys["find"]> =>
    (await readAdded(prisma, account, xOf(publicKey)))[0],
});

/** Returns the roles in which the signer has helped a key, or its negation, onto the account. */
export async function rolesOf(
  tx: Pick<Prisma.TransactionClient, "addedKey" | "recoveryKey">,
  { accountId, chainName }: AccountOnChain,
  publicKey: string,
): Promise<{ isUserKey: boolean; isRecoveryKey: boolean }> {
  const keyX = xOf(publicKey);
  const recovery = await tx.recoveryKey.count({ where: { accountId, chainName, publicKey: { startsWith: keyX } } });
  const user = await tx.addedKey.count({ where: { accountId, chainName, keyX } });
  return { isUserKey: user > 0, isRecoveryKey: recovery > 0 };
}

/**
 * Keeps revoked keys in Postgres: no replica signs the addition of a key whose revocation another one has
 * recorded.
 */
export const prismaRevokedKeys = (
  prisma: Pick<Prisma.TransactionClient, "addedKey" | "recoveryKey" | "revokedKey">,
) => {
  const has = async (key: { accountId: string; chainName: string; keyX: string }): Promise<boolean> =>
    (await prisma.revokedKey.count({ where: key })) > 0;
  const idOf = ({ accountId, chainName }: AccountOnChain, publicKey: string) => {
    return { accountId, chainName, keyX: xOf(publicKey) };
  };
  return {
    /** Records nothing where the limit is reached and the key is unknown, or where it has the other role. */
    async record(
      account: AccountOnChain,
      { publicKey, isOfUserKey, limit, recentSince }: Revocation,
      signedAt: Date,
    ): Promise<void> {
      const { keyX, ...where } = idOf(account, publicKey);
      const recent = await prisma.revokedKey.count({ where: { ...where, signedAt: { gt: recentSince } } });
      const { isUserKey, isRecoveryKey } = await rolesOf(prisma, account, publicKey);
      if (isOfUserKey ? isRecoveryKey : isUserKey) return;
      const isKnown = async () => isRecoveryKey || isUserKey || has({ ...where, keyX });
      if (recent >= limit && !(await isKnown())) return;
      await prisma.revokedKey.createMany({ data: [{ ...where, keyX, signedAt }], skipDuplicates: true });
    },
    has: (account: AccountOnChain, publicKey: string) => has(idOf(account, publicKey)),
    async forbidAddition(account: AccountOnChain, publicKey: string, by: AddedBy): Promise<boolean> {
      const key = idOf(account, publicKey);
      if (!(await has(key))) return false;
      const isOver = { source: "recovery", firstSignedAt: { lte: by.renewableSince } };
      const OR = [{ source: "creation" }, isOver];
      return by.source === "device" || (await prisma.addedKey.count({ where: { ...key, OR } })) > 0;
    },
    forget: async (account: AccountOnChain, publicKey: string): Promise<void> =>
      void (await prisma.revokedKey.deleteMany({ where: idOf(account, publicKey) })),
  };
};

/** Counts the account's other user keys that a device, or this one, approved after `countedSince`. */
export const countOtherDeviceApprovedKeys = (
  tx: Pick<Prisma.TransactionClient, "addedKey">,
  { accountId, chainName }: AccountOnChain,
  { publicKey, approver, countedSince }: DeviceApprovedKey,
): Promise<number> =>
  tx.addedKey.count({
    where: {
      ...{ accountId, source: "device", keyX: { not: xOf(publicKey) } },
      chainName: { in: [chainName, unknownOn(chainName)] },
      ...(approver !== undefined && { approverX: xOf(approver) }),
      firstSignedAt: { gt: countedSince },
    },
  });

/** Counts the account's other recovery keys that were signed for after `countedSince`. */
export const countOtherRecoveryKeys = (
  tx: Pick<Prisma.TransactionClient, "recoveryKey">,
  { accountId, chainName }: AccountOnChain,
  { key, countedSince }: RecoveryKeySlot,
): Promise<number> =>
  tx.recoveryKey.count({
    where: { accountId, chainName, publicKey: { not: key.publicKey }, signedAt: { gt: countedSince } },
  });

/** Keeps recovery keys in Postgres. */
export const prismaRecoveryKeys = (prisma: Pick<Prisma.TransactionClient, "recoveryKey">) => ({
  async record({ accountId, chainName }: AccountOnChain, key: PublicKey, signedAt: Date): Promise<void> {
    const { publicKey, algorithm } = key;
    const data = [{ accountId, chainName, publicKey, algorithm, signedAt }];
    await prisma.recoveryKey.createMany({ data, skipDuplicates: true });
  },
  async of({ accountId, chainName }: AccountOnChain): Promise<PublicKey[]> {
    const rows = await prisma.recoveryKey.findMany({ where: { accountId, chainName } });
    return rows.map(({ publicKey, algorithm }) => ({ publicKey, algorithm: algorithm as PublicKey["algorithm"] }));
  },
});
