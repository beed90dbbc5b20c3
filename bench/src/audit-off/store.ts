import { prismaAuditStore as realStore } from "../../../services/signer/src/store/prisma-audit-store.ts";

export * from "../../../services/signer/src/store/prisma-audit-store.ts";

const NO_RECORDS = { records: [], signature: new Uint8Array() };

/** Only to measure what records cost: an audit store that commits what a batch counts and reserves, but none of its records; or, with BENCH_STORE=nothing, one that answers at once. */
export const prismaAuditStore: typeof realStore = (prisma) => {
  const store = realStore(prisma);
  if (process.env.BENCH_STORE === "nothing") return { ...store, commit: () => Promise.resolve(true) };
  return { ...store, commit: (head, _batch, charge) => store.commit(head, NO_RECORDS, charge) };
};
