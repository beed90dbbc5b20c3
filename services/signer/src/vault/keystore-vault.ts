import type { KeyObject } from "node:crypto";
import { AppError } from "@countersign/core";
import { privateKeyOf, publicKeyOf, signMessage } from "@countersign/keys/node";
import { LRUCache } from "lru-cache";
import { type KeystoreContent, KeystoreError, keyVersions, serverRoots } from "./keystore-file.ts";
import { deriveServerScalar } from "./private-keys.ts";
import type { AuditKeyReference, KeyReference, Vault } from "./vault.ts";

/** For requests that follow each other: each takes 4.6 KB, and deriving one again some 100 µs. */
const MAX_CACHED_KEYS = 2_000;

function chainKeys({ chains }: KeystoreContent, chainName: string) {
  const keys = Object.hasOwn(chains, chainName) ? chains[chainName] : undefined;
  if (!keys) throw new AppError("UnknownChain");
  return keys;
}

/** Creates the embedded vault: private keys of an opened keystore file, held in this process only. */
export function createKeystoreVault(content: KeystoreContent): Vault {
  const roots = serverRoots(content);
  const cache = new LRUCache<string, KeyObject>({ max: MAX_CACHED_KEYS });

  /** Returns the key of the file, by version or the newest. */
  const stored = (key: AuditKeyReference | (KeyReference & { role: "creator" | "paymaster" })) => {
    const keys = key.role === "audit" ? (content.audit ?? []) : chainKeys(content, key.chainName)[key.role];
    const found = key.version === undefined ? keys.at(-1) : keys.find(({ version }) => version === key.version);
    if (!found) throw new KeystoreError(`the keystore has no such ${key.role} key`);
    return found;
  };
  /**
   * Returns the root secret of a version. Errors: KeystoreError for a version without a root secret in this
   * keystore: no other version's key may replace it.
   */
  const rootOf = (version: number): Buffer => {
    const root = roots.find((each) => each.version === version);
    if (!root) throw new KeystoreError(`the keystore has no root secret of server keys of version ${version}`);
    return Buffer.from(root.secret, "hex");
  };
  const scalarOf = (key: KeyReference | AuditKeyReference): string =>
    key.role === "server"
      ? deriveServerScalar(rootOf(key.version), key.chainName, key.accountId, key.version).toString("hex")
      : stored(key).scalar;

  const keyOf = (key: KeyReference | AuditKeyReference): KeyObject => {
    const id = JSON.stringify(key);
    const known = cache.get(id);
    if (known) return known;
    const found = privateKeyOf(scalarOf(key));
    cache.set(id, found);
    return found;
  };

  return {
    publicKey: async (key) => publicKeyOf(keyOf(key)),
    versions: (role, chainName) => {
      const { audit, chains, server } = keyVersions(content);
      if (role === "server") return server;
      if (role === "audit") return audit;
      return chains.find((chain) => chain.chainName === chainName)?.[role] ?? [];
    },
    version: (key) => (key.role === "server" ? key.version : stored(key).version),
    sign: async (key, message) => signMessage(keyOf(key), message, key.role === "audit" ? "sha256" : "sha3-256"),
  };
}
