import type { ServiceName } from "@countersign/build/paths.ts";

/** The most connections to Postgres of a replica; docs/scaling.md computes with them. */
export const MAX_CONNECTIONS: Readonly<Record<ServiceName, number>> = {
  auth: 7,
  device: 5,
  key: 5,
  account: 5,
  signer: 10,
};
