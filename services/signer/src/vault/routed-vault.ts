import { hash } from "node:crypto";
import { type PublicKey, samePublicKey } from "@countersign/keys";
import { verifySignature } from "@countersign/keys/node";
import { type KeyHolder, KeyHolderError } from "./key-holder.ts";
import type { AuditKeyReference, KeyReference, Vault } from "./vault.ts";

/** A version of a key that is in another vault than the keystore file. */
export interface HeldKey {
  readonly role: "creator" | "paymaster" | "audit";
  /** Absent for the audit key. */
  readonly chainName?: string | undefined;
  readonly version: number;
  readonly holder: KeyHolder;
  /** The holder's name of the key. */
  readonly id: string;
}

type StoredReference = AuditKeyReference | Exclude<KeyReference, { role: "server" }>;

const chainOf = (key: StoredReference) => (key.role === "audit" ? undefined : key.chainName);

/**
 * Combines the keystore file's vault with keys that are held elsewhere. Requests each holder's public keys
 * and one signature, so that a key that cannot sign fails the start and not a user's request. Errors:
 * KeyHolderError, Unavailable.
 */
export async function createRoutedVault(keystore: Vault, keys: readonly HeldKey[]): Promise<Vault> {
  const held = new Map<HeldKey, PublicKey>();
  for (const key of keys) {
    const publicKey = await key.holder.publicKey(key.id);
    if ([...held.values()].some((other) => samePublicKey(other, publicKey)))
      throw new KeyHolderError("the vaults file names one key twice");
    const probe = Buffer.from("countersign: a key is tried at the start");
    const signature = await key.holder.signDigest(key.id, hash("sha256", probe, "buffer"));
    if (!verifySignature(publicKey, probe, signature, "sha256"))
      throw new KeyHolderError(`the ${key.role} key of version ${key.version} signs with another key than it shows`);
    held.set(key, publicKey);
  }

  const versionsOf = (role: StoredReference["role"], chainName: string | undefined): number[] => {
    const elsewhere = keys.filter((key) => key.role === role && key.chainName === chainName).map((key) => key.version);
    return [...new Set([...keystore.versions(role, chainName), ...elsewhere])].sort((a, b) => a - b);
  };
  const versionOf = (key: StoredReference): number => {
    const version = key.version ?? versionsOf(key.role, chainOf(key)).at(-1);
    if (version === undefined) throw new KeyHolderError(`there is no ${key.role} key`);
    return version;
  };
  const find = (key: KeyReference | AuditKeyReference): HeldKey | undefined => {
    if (key.role === "server" || held.size === 0) return undefined;
    const version = versionOf(key);
    return keys.find((each) => each.role === key.role && each.chainName === chainOf(key) && each.version === version);
  };

  return {
    publicKey: async (key) => {
      const elsewhere = find(key);
      return elsewhere ? held.get(elsewhere)! : keystore.publicKey(key);
    },
    version: (key) => (key.role === "server" ? key.version : versionOf(key)),
    versions: (role, chainName) => (role === "server" ? keystore.versions(role) : versionsOf(role, chainName)),
    async sign(key, message) {
      const elsewhere = find(key);
      if (!elsewhere) return keystore.sign(key, message);
      const digest = hash(key.role === "audit" ? "sha256" : "sha3-256", message, "buffer");
      return elsewhere.holder.signDigest(elsewhere.id, digest);
    },
  };
}
