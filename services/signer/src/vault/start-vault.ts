import { readFileSync } from "node:fs";
import type { Logger } from "@countersign/core";
import { ConfigError, type ServiceProcess } from "@countersign/runtime";
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

/**
 * Logs a warning where core dumps are enabled: a core dump contains all keys. A program cannot disable its
 * own from JavaScript; the command that starts the signer does (`ulimit -c 0`, `ulimits: core: 0`,
 * LimitCORE=0). Where the system has no such file, nothing is checked.
 */
export function warnOfCoreDumps(logger: Pick<Logger, "warn">, limitsFile = "/proc/self/limits"): void {
  let limits: string;
  try {
    limits = readFileSync(limitsFile, "utf8");
  } catch {
    return;
  }
  const [, soft] = /^Max core file size\s+(\S+)/m.exec(limits) ?? [];
  if (soft !== undefined && soft !== "0")
    logger.warn(
      { event: "core-dumps" },
      "a crash may write the keys to a core dump: start the signer with a core limit of 0",
    );
}
