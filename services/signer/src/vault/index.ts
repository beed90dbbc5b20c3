// The only door to key material: what is not exported here stays in this folder.
export { ensureKeystore, KeystoreError, keyVersions, readKeystore } from "./keystore-file.ts";
export { createKeystoreVault } from "./keystore-vault.ts";
export type { AuditKeyReference, KeyReference, Vault } from "./vault.ts";
