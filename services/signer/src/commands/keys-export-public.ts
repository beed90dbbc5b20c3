import { command } from "@countersign/runtime";
import { createKeystoreVault, keyVersions, readKeystore } from "../vault/index.ts";
import { keystorePlace } from "./open-keystore.ts";

/**
 * `signer keys export-public`: prints the public halves of the audit key and of every chain's paymaster and
 * creator, all versions.
 */
export const keysExportPublic = command({
  usage: "keys export-public",
  about: "Prints the public halves of the audit key and of every chain's paymaster and creator, all versions.",
  options: {},
  async run({ env, print }) {
    const { file, passphrase } = keystorePlace(env);
    const content = readKeystore(file, passphrase);
    const vault = createKeystoreVault(content);
    const { audit, chains } = keyVersions(content);
    const publicKeys = (versions: readonly number[], of: (version: number) => Parameters<typeof vault.publicKey>[0]) =>
      Promise.all(
        versions.map(async (version) => ({ version, publicKey: (await vault.publicKey(of(version))).publicKey })),
      );
    const byChain: Record<string, unknown> = {};
    for (const { chainName, creator, paymaster } of chains) {
      byChain[chainName] = {
        creator: await publicKeys(creator, (version) => ({ role: "creator", chainName, version })),
        paymaster: await publicKeys(paymaster, (version) => ({ role: "paymaster", chainName, version })),
      };
    }
    print(
      JSON.stringify({ audit: await publicKeys(audit, (version) => ({ role: "audit", version })), chains: byChain }),
    );
    return 0;
  },
});
