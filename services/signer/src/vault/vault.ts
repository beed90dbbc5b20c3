import type { PublicKey } from "@countersign/keys";

/**
 * The key that signs. Server keys are derived, one per account, chain and version; the others are the
 * service's own.
 */
export type KeyReference =
  | {
      readonly role: "creator" | "paymaster";
      readonly chainName: string;
      /** Default the newest. */
      readonly version?: number;
    }
  | { readonly role: "server"; readonly chainName: string; readonly accountId: string; readonly version: number };

/** The key that signs checkpoints of the audit log and is on no chain. `version`: default the newest. */
export interface AuditKeyReference {
  readonly role: "audit";
  readonly version?: number;
}

/** Where private keys live. Every kind of vault answers public keys and signatures, never key material. */
export interface Vault {
  /** P-256. Errors: UnknownChain for a chain that the vault holds no keys of. */
  publicKey(key: KeyReference | AuditKeyReference): Promise<PublicKey>;
  /**
   * All versions of one of the service's own keys, the oldest first; of server keys those that can be
   * derived.
   */
  versions(role: "creator" | "paymaster" | "audit" | "server", chainName?: string): readonly number[];
  /** The version that `sign` uses; for the audit record. */
  version(key: KeyReference | AuditKeyReference): number;
  /**
   * Raw r||s, 64 bytes, ECDSA on P-256 over the SHA3-256 of `message`, with the audit key over its SHA-256.
   */
  sign(key: KeyReference | AuditKeyReference, message: Uint8Array): Promise<Uint8Array>;
}

/** Returns the audit key's public halves by version. */
export async function auditPublicKeys(vault: Vault): Promise<Map<number, PublicKey>> {
  const keys = vault
    .versions("audit")
    .map(async (version) => [version, await vault.publicKey({ role: "audit", version })] as const);
  return new Map(await Promise.all(keys));
}

/**
 * Returns the public halves of creator and paymaster on a chain in every version: none of them may ever be a
 * user's key.
 */
export async function ownPublicKeys(vault: Vault, chainName: string): Promise<PublicKey[]> {
  const references = (["creator", "paymaster"] as const).flatMap((role) =>
    vault.versions(role, chainName).map((version) => ({ role, chainName, version })),
  );
  return Promise.all(references.map((reference) => vault.publicKey(reference)));
}
