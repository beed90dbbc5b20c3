/** The SQLSTATE that Postgres gave, through what Prisma makes of it; undefined where it gave none. */
export function sqlState(error: unknown): string | undefined {
  const { meta } = (error ?? {}) as { meta?: { driverAdapterError?: { cause?: { originalCode?: string } } } };
  return meta?.driverAdapterError?.cause?.originalCode;
}
