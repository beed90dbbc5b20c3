export * from "../../../services/signer/src/store/prisma-audit-store.ts";

/** An audit store that answers at once and keeps nothing: only to measure what the records cost. */
export const prismaAuditStore = () => ({
  startChain: () => Promise.resolve(),
  commit: () => Promise.resolve(true),
});
