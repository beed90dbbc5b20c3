import type { SignedTemplates } from "../domain/ports.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";

const MAX_BIGINT = 2n ** 63n - 1n;

type Account = Parameters<SignedTemplates["has"]>[0];

/** A number beyond Postgres' is beyond any account's: what is signed for it never runs. */
const idOf = ({ accountId, chainName, serverKeyIndex: keyIndex }: Account, number: bigint) =>
  number > MAX_BIGINT ? undefined : { accountId, chainName, keyIndex, number };

/** Sequence numbers in Postgres: what one replica has signed every other one voids. */
export const prismaSignedTemplates = (prisma: PrismaClient): SignedTemplates => ({
  async note(account, number, signedAt, { sessionId, most, since, unfrozenAt }) {
    const id = idOf(account, number);
    if (!id) return true;
    const { accountId, chainName, keyIndex } = id;
    return prisma.$transaction(async (tx) => {
      // Who counts waits for who has counted, on any replica.
      const key = JSON.stringify(["signed_template", accountId, chainName, keyIndex]);
      await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${key}, 0))`;
      // Signed again it is as young as this, and this session's. What executed is told by the settlement of budgets.
      const noted = await tx.$executeRaw`
        INSERT INTO signed_template AS t (account_id, chain_name, key_index, number, signed_at, session_id)
        SELECT ${accountId}::uuid, ${chainName}, ${keyIndex}::int, ${number}::bigint, ${signedAt}::timestamptz, ${sessionId}::uuid
        WHERE ${most}::int > (
          SELECT count(*) FROM signed_template o
          WHERE o.account_id = ${accountId}::uuid AND o.chain_name = ${chainName} AND o.key_index = ${keyIndex}::int
            AND o.session_id = ${sessionId}::uuid AND o.number <> ${number}::bigint AND o.signed_at > ${since}::timestamptz
            AND NOT EXISTS (
              SELECT FROM budget_reservation r WHERE r.chain_name = o.chain_name AND r.settled_at IS NOT NULL
                AND r.proposal = ${account.address}::text || '/' || o.key_index || '/' || o.number))
        ON CONFLICT (account_id, chain_name, key_index, number)
          DO UPDATE SET signed_at = greatest(t.signed_at, EXCLUDED.signed_at), session_id = EXCLUDED.session_id,
            kept_at = CASE WHEN t.signed_at <= ${unfrozenAt ?? null}::timestamptz THEN t.signed_at ELSE t.kept_at END`;
      return noted > 0;
    });
  },
  async laterKeptAt(account, number, { since, unfrozenAt }) {
    const id = idOf(account, number);
    if (!id) return undefined;
    const [row] = await prisma.$queryRaw<{ keptAt: Date | null }[]>`
      SELECT max(kept.at) AS "keptAt" FROM (
        SELECT CASE WHEN signed_at <= ${unfrozenAt}::timestamptz THEN signed_at ELSE kept_at END AS at
        FROM signed_template WHERE account_id = ${id.accountId}::uuid AND chain_name = ${id.chainName}
          AND key_index = ${id.keyIndex}::int AND number > ${number}::bigint) kept
      WHERE kept.at > ${since}::timestamptz`;
    return row?.keptAt ?? undefined;
  },
  async has(account, number) {
    const where: Prisma.SignedTemplateWhereInput | undefined = idOf(account, number);
    return where !== undefined && (await prisma.signedTemplate.count({ where })) > 0;
  },
});

/** Numbers whose transactions' reference blocks are long too old. */
export async function pruneSignedTemplates(prisma: PrismaClient, before: Date): Promise<void> {
  await prisma.signedTemplate.deleteMany({ where: { signedAt: { lt: before } } });
}
