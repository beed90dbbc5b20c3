// The only door to key material: what is not exported here stays in this folder.

export { type AuditWriter, createAuditWriter } from "./audit-writer.ts";
export { warnOfCoreDumps } from "./core-dumps.ts";
export {
  addKeyVersion,
  addServerRoot,
  ensureKeystore,
  KeystoreError,
  keyVersions,
  readKeystore,
  reEncryptKeystore,
} from "./keystore-file.ts";
export { createKeystoreVault } from "./keystore-vault.ts";
export { openVaults } from "./open-vaults.ts";
export { auditPublicKeys, ownPublicKeys } from "./own-public-keys.ts";
export type { AuditKeyReference, KeyReference, Vault } from "./vault.ts";
