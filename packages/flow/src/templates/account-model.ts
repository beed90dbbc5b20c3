import type { KeyAlgorithm } from "@countersign/keys";

/** Raw values of Cadence's HashAlgorithm and SignatureAlgorithm. */
export const HASH_ALGORITHM = { SHA2_256: 1, SHA3_256: 3 } as const;
export const SIGNATURE_ALGORITHM = { ES256: 1, ES256K: 2 } as const;

/** The weight that an account's signatures must reach together. */
export const ACCOUNT_KEY_THRESHOLD = 1000;

/**
 * The roles of an account's keys. Device and server act together, neither alone. The hash marks the role,
 * because a server key and a recovery key have the same weight. See docs/account-model.md.
 */
export const KEY_ROLES = {
  server: { weight: 999, hashAlgorithm: HASH_ALGORITHM.SHA3_256, initialIndex: 0 },
  user: { weight: 1, hashAlgorithm: HASH_ALGORITHM.SHA2_256, initialIndex: 1 },
  recovery: { weight: 999, hashAlgorithm: HASH_ALGORITHM.SHA2_256 },
} as const;

/** Accounts with an EVM address that fit into one transaction's computation limit. */
export const MAX_ACCOUNTS_PER_CREATION = 10;

/** The chain's own limit on computation. */
export const MAX_COMPUTATION = 9999n;

/** Algorithms that a Flow account key can have. */
export const FLOW_KEY_ALGORITHMS = ["ES256", "ES256K"] as const satisfies readonly KeyAlgorithm[];
export type FlowKeyAlgorithm = (typeof FLOW_KEY_ALGORITHMS)[number];

/** Returns whether Flow can carry keys of this algorithm. */
export const isFlowKeyAlgorithm = (algorithm: KeyAlgorithm): algorithm is FlowKeyAlgorithm =>
  (FLOW_KEY_ALGORITHMS as readonly string[]).includes(algorithm);
