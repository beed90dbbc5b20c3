import type { KeyAlgorithm } from "@countersign/keys";

/**
 * Raw values of Cadence's HashAlgorithm.
 * @example HASH_ALGORITHM.SHA3_256; // => 3
 */
export const HASH_ALGORITHM = { SHA2_256: 1, SHA3_256: 3 } as const;

/**
 * The roles of an account's keys. Device and server act together, neither alone. The hash marks the role,
 * because a server key and a recovery key have the same weight. See docs/account-model.md.
 * @example KEY_ROLES.user.weight + KEY_ROLES.server.weight; // => 1000
 */
export const KEY_ROLES = {
  server: { weight: 999, hashAlgorithm: HASH_ALGORITHM.SHA3_256, initialIndex: 0 },
  user: { weight: 1, hashAlgorithm: HASH_ALGORITHM.SHA2_256, initialIndex: 1 },
  recovery: { weight: 999, hashAlgorithm: HASH_ALGORITHM.SHA2_256 },
} as const;

/** The role of an account's key. */
export type KeyRole = keyof typeof KEY_ROLES;

/** A key as the chain has it (its hash by name), or as an event has it (its hash as raw value). */
interface MarkedKey {
  readonly weight: number;
  readonly hashAlgorithm: string | number;
}

/**
 * Returns a key's role by its weight and hash; undefined for one that no key of the service has.
 * @example keyRoleOf({ weight: 1, hashAlgorithm: "SHA2_256" }); // => "user"
 */
export function keyRoleOf({ weight, hashAlgorithm }: MarkedKey): KeyRole | undefined {
  const hash = HASH_ALGORITHM[hashAlgorithm as keyof typeof HASH_ALGORITHM] ?? hashAlgorithm;
  const roles = Object.keys(KEY_ROLES) as KeyRole[];
  return roles.find((role) => KEY_ROLES[role].weight === weight && KEY_ROLES[role].hashAlgorithm === hash);
}

/**
 * Finds an account's active key of a role; of these bytes (128 hex digits), where they are given.
 * @example const serverKey = activeKey(await access.accountKeys(address), "server");
 */
export const activeKey = <Key extends MarkedKey & { readonly publicKey: string; readonly revoked: boolean }>(
  keys: readonly Key[],
  role: KeyRole,
  publicKey?: string,
): Key | undefined =>
  keys.find(
    (key) => !key.revoked && keyRoleOf(key) === role && (publicKey === undefined || key.publicKey === publicKey),
  );

/**
 * Accounts with an EVM address that fit into one transaction's computation limit.
 * @example const batch = accounts.slice(0, MAX_ACCOUNTS_PER_CREATION);
 */
export const MAX_ACCOUNTS_PER_CREATION = 10;

/**
 * The chain's own limit on computation.
 * @example const payload = { ...transaction, gasLimit: MAX_COMPUTATION };
 */
export const MAX_COMPUTATION = 9999n;

/**
 * Algorithms that a Flow account key can have.
 * @example FLOW_KEY_ALGORITHMS.join(" "); // => "ES256 ES256K"
 */
export const FLOW_KEY_ALGORITHMS = ["ES256", "ES256K"] as const satisfies readonly KeyAlgorithm[];
/** An algorithm that a Flow account key can have. */
export type FlowKeyAlgorithm = (typeof FLOW_KEY_ALGORITHMS)[number];

/**
 * Returns whether Flow can carry keys of this algorithm.
 * @example isFlowKeyAlgorithm("EdDSA"); // => false
 */
export const isFlowKeyAlgorithm = (algorithm: KeyAlgorithm): algorithm is FlowKeyAlgorithm =>
  (FLOW_KEY_ALGORITHMS as readonly string[]).includes(algorithm);
