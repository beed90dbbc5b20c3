import type { KeyObject } from "node:crypto";
import { AppError } from "@countersign/errors";
import { publicKeyOf, signMessage } from "@countersign/keys/node";
import type { KeystoreContent } from "./keystore-file.ts";
import { p256PrivateKey } from "./p256.ts";
import { deriveServerScalar } from "./server-key.ts";
import type { KeyReference, Vault } from "./vault.ts";

const CACHED_KEYS = 10_000;

/** The embedded vault: private keys of an opened keystore file, held in this process only. */
export function createKeystoreVault(content: KeystoreContent): Vault {
  const rootSecret = Buffer.from(content.rootSecret, "hex");
  const cache = new Map<string, KeyObject>();

  const newest = (key: KeyReference & { role: "creator" | "paymaster" }) => {
    const keys = Object.hasOwn(content.chains, key.chainName) ? content.chains[key.chainName] : undefined;
    if (!keys) throw new AppError("UnknownChain");
    return keys[key.role].at(-1)!;
  };
  const scalarOf = (key: KeyReference): Buffer =>
    key.role === "server"
      ? deriveServerScalar(rootSecret, key.chainName, key.accountId, key.version)
      : Buffer.from(newest(key).scalar, "hex");

  const keyOf = (key: KeyReference): KeyObject => {
    const id = JSON.stringify(key);
    let found = cache.get(id);
    if (found)
      cache.delete(id); // re-inserted below: the map's order is the order of use
    else found = p256PrivateKey(scalarOf(key));
    cache.set(id, found);
    if (cache.size > CACHED_KEYS) cache.delete(cache.keys().next().value!);
    return found;
  };

  return {
    publicKey: async (key) => publicKeyOf(keyOf(key)),
    version: (key) => (key.role === "server" ? key.version : newest(key).version),
    sign: async (key, message) => signMessage(keyOf(key), message, "sha3-256"),
  };
}
