import type { PublicKey } from "@countersign/keys";
import type { Vault } from "./vault.ts";

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
