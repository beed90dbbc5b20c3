import { command, UsageError } from "@countersign/runtime";
import { addKeyVersion, addServerRoot, createKeystoreVault, keyVersions } from "../vault/index.ts";
import { keystorePlace } from "./keystore-place.ts";

/**
 * `signer keys rotate`: adds a version; the versions before it go on signing. The networks file chooses the
 * version in use (docs/vaults.md); of the audit key the newest is used from the next start on. For server
 * keys it adds the root secret of the next version.
 */
export const keysRotate = command({
  usage: "keys rotate --role creator|paymaster|audit|server [--chain <chain name>]",
  about: "Adds a version of a key; the versions before it go on signing.",
  options: { role: { type: "string" }, chain: { type: "string" } },
  async run({ values: { role, chain: chainName }, env, print }) {
    const { file, passphrase } = keystorePlace(env);
    if (role === "audit" && !chainName) {
      const content = addKeyVersion(file, passphrase, { role });
      const vault = createKeystoreVault(content);
      const version = vault.version({ role });
      print(JSON.stringify({ role, version, publicKey: (await vault.publicKey({ role, version })).publicKey }));
      return 0;
    }
    if (role === "server" && !chainName) {
      print(JSON.stringify({ role, version: keyVersions(addServerRoot(file, passphrase)).server.at(-1) }));
      return 0;
    }
    if ((role !== "creator" && role !== "paymaster") || !chainName) throw new UsageError(this.usage);
    const vault = createKeystoreVault(addKeyVersion(file, passphrase, { role, chainName }));
    const version = vault.version({ role, chainName });
    const { publicKey } = await vault.publicKey({ role, chainName, version });
    print(JSON.stringify({ role, chainName, version, publicKey, hashAlgorithm: "SHA3_256" }));
    return 0;
  },
});
