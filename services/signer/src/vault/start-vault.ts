import { readFileSync } from "node:fs";
import type { Logger, Watched } from "@countersign/core";
import { type PublicKey, samePublicKey } from "@countersign/keys";
import { ConfigError, type Files, type ReadFile, readSecretFile, type ServiceProcess } from "@countersign/runtime";
import { openKeystore } from "./keystore-file.ts";
import { createKeystoreVault } from "./keystore-vault.ts";
import { openVaults } from "./open-vaults.ts";
import { auditPublicKeys, type Vault } from "./vault.ts";

type Networks = ReadonlyMap<string, { readonly chainName: string; readonly serverKeyVersion?: number | undefined }>;

export interface VaultSettings {
  readonly keystoreFile: string;
  readonly vaultsFile: string | undefined;
  readonly secrets: { readonly keystorePassphraseFile: string };
  readonly networks: Watched<Networks> & { require(check: (networks: Networks) => void): void };
}

/** The vault of a process, which may be opened again with other keys and credentials. */
export interface RunningVault {
  readonly vault: Vault;
  /** The public halves of the audit key by version. */
  auditKeys(): ReadonlyMap<number, PublicKey>;
}

interface Opened {
  readonly vault: Vault;
  readonly auditKeys: ReadonlyMap<number, PublicKey>;
  /** By role, chain and version: the keys that a later vault must have as well. */
  readonly publicKeys: ReadonlyMap<string, PublicKey>;
  close(): void;
}

/** Milliseconds for which signatures may still be under way in a vault that was replaced. */
const REPLACED_MS = 30_000;
/** Any account: its keys show the root secrets of all versions. */
const PROBE = "00000000-0000-7000-8000-000000000000";

/** Returns the public half of each key, for these chains. */
async function publicKeysOf(vault: Vault, chainNames: Iterable<string>): Promise<Map<string, PublicKey>> {
  const found = new Map<string, PublicKey>();
  for (const chainName of chainNames) {
    for (const role of ["creator", "paymaster", "server"] as const) {
      for (const version of vault.versions(role, chainName)) {
        const key = role === "server" ? { role, chainName, accountId: PROBE, version } : { role, chainName, version };
        found.set(`${role} ${chainName} ${version}`, await vault.publicKey(key));
      }
    }
  }
  for (const [version, publicKey] of await auditPublicKeys(vault)) found.set(`audit ${version}`, publicKey);
  return found;
}

/** Requires every key of the vault in use: no wrong file may sign for anybody. Errors: ConfigError. */
function requireSameKeys(before: Opened["publicKeys"], after: Opened["publicKeys"]): void {
  for (const [name, publicKey] of before) {
    const found = after.get(name);
    if (!found) throw new ConfigError([`the vaults lack a key that is in use: ${name}`]);
    if (!samePublicKey(found, publicKey)) throw new ConfigError([`the vaults have another key than before: ${name}`]);
  }
}

/** Requires the server keys of the version that each chain wants. Errors: ConfigError. */
function requireServerKeys(vault: Vault, networks: Networks): void {
  for (const { chainName, serverKeyVersion = 1 } of networks.values()) {
    if (vault.versions("server").includes(serverKeyVersion)) continue;
    const problem = `the keystore has no server keys of version ${serverKeyVersion}: signer keys rotate --role server`;
    throw new ConfigError([`CS_NETWORKS_FILE: ${chainName}: ${problem}`]);
  }
}

/**
 * Opens the keystore and the vaults of the vaults file, and again when one of the files or of the credentials
 * that they name changes; they close with the process. A later vault must have all keys of the one before.
 * Errors: ConfigError where the keystore lacks the server keys of a version that a chain wants: this replica
 * could not sign for accounts that others have rotated.
 */
export async function startVault(
  { keystoreFile, vaultsFile, secrets, networks }: VaultSettings,
  { logger, files, onClose }: Pick<ServiceProcess, "logger" | "onClose"> & { files: Pick<Files, "open"> },
): Promise<RunningVault> {
  let used: Opened | undefined;
  const chainNames = new Set<string>();
  const open = async (read: ReadFile): Promise<Opened> => {
    const passphrase = readSecretFile(secrets.keystorePassphraseFile, read);
    const keystore = createKeystoreVault(await openKeystore(keystoreFile, passphrase, read));
    const { vault, close } = await openVaults(keystore, vaultsFile, read);
    for (const chainName of networks.current().keys()) chainNames.add(chainName);
    try {
      requireServerKeys(vault, networks.current());
      const [auditKeys, publicKeys] = [await auditPublicKeys(vault), await publicKeysOf(vault, chainNames)];
      if (used) requireSameKeys(used.publicKeys, publicKeys);
      return { vault, auditKeys, publicKeys, close };
    } catch (error) {
      close();
      throw error;
    }
  };
  const opened = await files.open("vaults", open);
  used = opened.current();
  opened.onChange((next) => {
    const before = used;
    used = next;
    setTimeout(() => before?.close(), REPLACED_MS).unref();
  });
  onClose("vaults", () => used?.close());
  warnOfCoreDumps(logger);
  networks.require((wanted) => requireServerKeys(opened.current().vault, wanted));
  const current = () => opened.current().vault;
  return {
    vault: {
      publicKey: (key) => current().publicKey(key),
      versions: (role, chainName) => current().versions(role, chainName),
      version: (key) => current().version(key),
      sign: (key, message) => current().sign(key, message),
    },
    auditKeys: () => opened.current().auditKeys,
  };
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
