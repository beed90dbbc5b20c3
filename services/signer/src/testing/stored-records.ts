import type { AuditRecord } from "../audit/record.ts";
import type { PrismaClient } from "../store/generated/client.ts";

const camel = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Returns a row of the view audit_record as the record that it is. */
export function recordOfRow(row: Record<string, unknown>): AuditRecord {
  const named = Object.entries(row).map(([name, value]) => [camel(name), value]);
  return { ...Object.fromEntries(named), sequence: BigInt(String(row.sequence)) };
}

/** Returns the records of the database, by chain and sequence. */
export async function storedRecords(prisma: PrismaClient): Promise<AuditRecord[]> {
  const rows = await prisma.$queryRaw<
    Record<string, unknown>[]
  >`SELECT * FROM audit_record ORDER BY chain_id, sequence`;
  return rows.map(recordOfRow);
}
