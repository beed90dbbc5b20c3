import { command } from "@countersign/runtime";
import { createKeystoreVault, keyVersions, openVaults, readKeystore } from "../vault/index.ts";
import { keystorePlace } from "./keystore-place.ts";

/**
 * `signer keys export-public`: prints the public halves of the audit key and of every chain's paymaster and
 * creator, all versions, also of those that SIGNER_VAULTS_FILE places elsewhere.
 */
export const keysExportPublic = command({
  usage: "keys export-public",
  about: "Prints the public halves of the audit key and of every chain's paymaster and creator, all versions.",
  options: {},
  async run({ env, print }) {
    const { file, passphrase } = keystorePlace(env);
    const content = readKeystore(file, passphrase);
    const { vault, close } = await openVaults(createKeystoreVault(content), env.SIGNER_VAULTS_FILE);
    const publicKeys = (versions: readonly number[], of: (version: number) => Parameters<typeof vault.publicKey>[0]) =>
      Promise.all(
        versions.map(async (version) => ({ version, publicKey: (await vault.publicKey(of(version))).publicKey })),
      );
    const byChain: Record<string, unknown> = {};
    try {
      for (const { chainName } of keyVersions(content).chains) {
        const of = (role: "creator" | "paymaster") =>
          publicKeys(vault.versions(role, chainName), (version) => ({ role, chainName, version }));
        byChain[chainName] = { creator: await of("creator"), paymaster: await of("paymaster") };
      }
      const audit = await publicKeys(vault.versions("audit"), (version) => ({ role: "audit", version }));
      print(JSON.stringify({ audit, chains: byChain }));
    } finally {
      close();
    }
  },
});
