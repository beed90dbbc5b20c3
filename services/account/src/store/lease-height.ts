import type { Lease } from "../domain/ports.ts";
import { Prisma, type PrismaClient } from "./generated/client.ts";

type HeightTable = "key_watch" | "budget_settlement";

/**
 * Returns whether a replica has a chain's lease in a table of heights, or nobody has it. By the database's
 * clock: those of replicas may differ by more than a lease lasts.
 */
export async function mayLeaseHeight(
  prisma: PrismaClient,
  table: HeightTable,
  chainName: string,
  { owner }: Lease,
): Promise<boolean> {
  const others = await prisma.$queryRaw<unknown[]>`
    SELECT 1 FROM ${Prisma.raw(table)}
    WHERE chain_name = ${chainName} AND lease_owner <> ${owner}::uuid AND lease_until >= now()`;
  return others.length === 0;
}

/**
 * Takes or renews a chain's lease in a table of heights and returns the height; undefined while another
 * replica has it.
 */
export async function leaseHeight(
  prisma: PrismaClient,
  table: HeightTable,
  chainName: string,
  { owner, now, until }: Lease,
  begin: bigint,
): Promise<bigint | undefined> {
  const leaseMs = until.getTime() - now.getTime();
  // Not one statement with ON CONFLICT: on a database of several nodes that cannot compare with now().
  const [held] = await prisma.$queryRaw<{ height: bigint }[]>`
    UPDATE ${Prisma.raw(table)} SET lease_owner = ${owner}::uuid,
      lease_until = now() + ${leaseMs} * interval '1 millisecond'
    WHERE chain_name = ${chainName} AND (lease_owner = ${owner}::uuid OR lease_until < now())
    RETURNING height`;
  if (held) return held.height;
  const [row] = await prisma.$queryRaw<{ height: bigint }[]>`
    INSERT INTO ${Prisma.raw(table)} (chain_name, height, lease_owner, lease_until)
    VALUES (${chainName}, ${begin}, ${owner}::uuid, now() + ${leaseMs} * interval '1 millisecond')
    ON CONFLICT (chain_name) DO NOTHING RETURNING height`;
  return row?.height;
}
