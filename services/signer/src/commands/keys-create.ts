import { command, UsageError } from "@countersign/runtime";
import { createKeystoreVault, ensureKeystore } from "../vault/index.ts";
import { keystorePlace } from "./keystore-place.ts";

/**
 * `signer keys create`: creates the keystore, or adds a chain's keys and the audit key to it, and prints the
 * public keys. Repeated, it changes nothing.
 */
export const keysCreate = command({
  usage: "keys create --chain <chain name>",
  about: "Creates the keystore, or adds a chain's keys and the audit key to it, and prints the public keys.",
  options: { chain: { type: "string" } },
  async run({ values: { chain: chainName }, env, print }) {
    if (!chainName) throw new UsageError(this.usage);
    const { file, passphrase } = keystorePlace(env);
    const vault = createKeystoreVault(ensureKeystore(file, passphrase, chainName));
    const describe = async (role: "creator" | "paymaster") => ({
      publicKey: (await vault.publicKey({ role, chainName })).publicKey,
      hashAlgorithm: "SHA3_256",
    });
    print(JSON.stringify({ chainName, creator: await describe("creator"), paymaster: await describe("paymaster") }));
  },
});
