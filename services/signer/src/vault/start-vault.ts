import { ConfigError, type ServiceProcess } from "@countersign/runtime";
import { warnOfCoreDumps } from "./core-dumps.ts";
import { readKeystore } from "./keystore-file.ts";
import { createKeystoreVault } from "./keystore-vault.ts";
import { openVaults } from "./open-vaults.ts";
import type { Vault } from "./vault.ts";

export interface VaultSettings {
  readonly keystoreFile: string;
  readonly vaultsFile: string | undefined;
  readonly secrets: { readonly keystorePassphrase: string };
  readonly chains: ReadonlyMap<string, { readonly chainName: string; readonly serverKeyVersion?: number | undefined }>;
}

/**
 * Opens the keystore and the vaults of the vaults file; they close with the process. Errors: ConfigError
 * where the keystore lacks the server keys of a version that a chain wants: this replica could not sign for
 * accounts that others have rotated.
 */
export async function startVault(
  { keystoreFile, vaultsFile, secrets, chains }: VaultSettings,
  { logger, onClose }: Pick<ServiceProcess, "logger" | "onClose">,
): Promise<Vault> {
  const keystore = createKeystoreVault(readKeystore(keystoreFile, secrets.keystorePassphrase));
  const { vault, close } = await openVaults(keystore, vaultsFile);
  onClose("vaults", close);
  warnOfCoreDumps(logger);
  const missing = [...chains.values()].find(
    ({ serverKeyVersion = 1 }) => !vault.versions("server").includes(serverKeyVersion),
  );
  if (missing) {
    const { chainName, serverKeyVersion = 1 } = missing;
    const problem = `the keystore has no server keys of version ${serverKeyVersion}`;
    throw new ConfigError([`CS_NETWORKS_FILE: ${chainName}: ${problem}`]);
  }
  return vault;
}
