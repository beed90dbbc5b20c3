import { queriesIn, sqlFile } from "@countersign/postgres";
import type { SignedTemplates } from "../domain/ports.ts";
import type { Binding } from "../policy/account.ts";
import type { SequenceNumberUse } from "../policy/effects.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";

const MAX_BIGINT = 2n ** 63n - 1n;

type Account = Parameters<SignedTemplates["has"]>[0];

/** Returns the row's id; undefined for a number that Postgres cannot store, which no account reaches. */
const idOf = ({ accountId, chainName, serverKeyIndex: keyIndex }: Account, number: bigint) =>
  number > MAX_BIGINT ? undefined : { accountId, chainName, keyIndex, number };

const recordStatement = sqlFile(new URL("../../sql/record-sequence-number.sql", import.meta.url));

/**
 * Records a sequence number as the session's. False, and nothing recorded, where the session has `limit`
 * other numbers of the key open: signed for after `openSince` and not known to have executed, over all
 * replicas. The transaction holds the account's lock, so that nobody counts meanwhile.
 */
export async function recordSequenceNumber(
  tx: Prisma.TransactionClient,
  account: Account & Pick<Binding, "address">,
  { number, sessionId, limit, openSince, unfrozenAt }: SequenceNumberUse,
  signedAt: Date,
): Promise<boolean> {
  const id = idOf(account, number);
  if (!id) return true;
  if ((await countOpen(tx, account, id, { sessionId, openSince })) >= limit) return false;
  const unfrozen = unfrozenAt ?? null;
  await queriesIn(tx).execute(recordStatement({ ...id, sessionId, unfrozenAt: unfrozen, signedAt }));
  return true;
}

/**
 * Counts the session's other numbers that are not known to have executed: settled budgets show what did. Two
 * statements, since the account's rows and the budgets may be on different nodes.
 */
async function countOpen(
  tx: Prisma.TransactionClient,
  { address }: Pick<Binding, "address">,
  { accountId, chainName, keyIndex, number }: NonNullable<ReturnType<typeof idOf>>,
  { sessionId, openSince }: Pick<SequenceNumberUse, "sessionId" | "openSince">,
): Promise<number> {
  const recent = { accountId, chainName, keyIndex, sessionId, number: { not: number }, signedAt: { gt: openSince } };
  const rows = await tx.signedTemplate.findMany({ where: recent, select: { number: true } });
  if (rows.length === 0) return 0;
  const proposals = rows.map((row) => `${address}/${keyIndex}/${row.number}`);
  const settled = await tx.budgetReservation.count({
    where: { chainName, proposal: { in: proposals }, settledAt: { not: null } },
  });
  return rows.length - settled;
}

/** Keeps sequence numbers in Postgres: every replica voids the templates that any replica signed. */
export const prismaSignedTemplates = (prisma: PrismaClient): SignedTemplates => ({
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
