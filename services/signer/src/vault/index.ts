// The only way to key material: import rules keep the other files of this folder private.

export { type AuditWriter, createAuditWriter } from "./audit-writer.ts";
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
export { type RunningVault, startVault } from "./start-vault.ts";
export { type AuditKeyReference, auditPublicKeys, type KeyReference, ownPublicKeys, type Vault } from "./vault.ts";
