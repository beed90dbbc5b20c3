import { type Env, readSecretFile } from "@countersign/runtime";

/** Reads a variable that must be there. Errors: Error that names it. */
function required(env: Env, name: string): string {
  const value = env[name];
  if (!value) throw new Error(`${name} is missing`);
  return value;
}

/**
 * Returns the keystore's file and passphrase, by SIGNER_KEYSTORE_FILE and SIGNER_KEYSTORE_PASSPHRASE_FILE as
 * for the service.
 */
export const keystorePlace = (env: Env) => ({
  file: required(env, "SIGNER_KEYSTORE_FILE"),
  passphrase: readSecretFile(required(env, "SIGNER_KEYSTORE_PASSPHRASE_FILE")),
});
