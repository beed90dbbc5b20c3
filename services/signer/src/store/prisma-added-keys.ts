import type { PublicKey } from "@countersign/keys";
import type { AddedKeys, KeySource } from "../domain/added-keys.ts";
import type { PrismaClient } from "./generated/client.ts";

const xOf = (publicKey: string): string => publicKey.slice(0, 64);

interface Row {
  publicKey: string;
  algorithm: PublicKey["algorithm"];
  source: KeySource;
  firstSignedAt: Date;
  signedAt: Date;
  revoked: boolean;
}

/** User keys in Postgres: an addition that one replica has signed is known to every other one. */
export const prismaAddedKeys = (prisma: PrismaClient): AddedKeys => ({
  async recordCreation(chainName, keys, now) {
    const data = keys.map(({ accountId, key: { publicKey, algorithm } }) => ({
      ...{ accountId, chainName, keyX: xOf(publicKey), publicKey, algorithm },
      ...{ source: "creation", firstSignedAt: now, signedAt: now },
    }));
    await prisma.addedKey.createMany({ data, skipDuplicates: true });
  },

  async record({ accountId, chainName }, { key, source, now, renewableSince, approverSince }) {
    const { publicKey, algorithm } = key;
    const recorded = await prisma.$executeRaw`
      INSERT INTO added_key AS k
        (account_id, chain_name, key_x, public_key, algorithm, source, first_signed_at, signed_at)
      VALUES (${accountId}::uuid, ${chainName}, ${xOf(publicKey)}, ${publicKey}, ${algorithm}, ${source}, ${now}, ${now})
      ON CONFLICT (account_id, chain_name, key_x) DO UPDATE SET
        source = CASE WHEN k.source = 'device' THEN EXCLUDED.source ELSE k.source END,
        first_signed_at = CASE WHEN k.first_signed_at > ${renewableSince}::timestamptz
          THEN k.first_signed_at ELSE EXCLUDED.first_signed_at END,
        signed_at = greatest(k.signed_at, EXCLUDED.signed_at)
      WHERE k.first_signed_at > ${renewableSince}::timestamptz OR EXCLUDED.source = 'recovery'
        OR k.first_signed_at >= ${approverSince ?? null}::timestamptz`;
    return recorded === 1;
  },

  async of({ accountId, chainName }) {
    const rows = await prisma.$queryRaw<Row[]>`
      SELECT k.public_key AS "publicKey", k.algorithm, k.source, k.first_signed_at AS "firstSignedAt",
        k.signed_at AS "signedAt", r.key_x IS NOT NULL AS revoked
      FROM added_key k LEFT JOIN revoked_key r USING (account_id, chain_name, key_x)
      WHERE k.account_id = ${accountId}::uuid AND k.chain_name = ${chainName} ORDER BY k.first_signed_at`;
    return rows.map(({ publicKey, algorithm, ...row }) => ({ ...row, key: { publicKey, algorithm } }));
  },
});
