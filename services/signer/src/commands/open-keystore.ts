import { type Env, readSecretFile } from "@countersign/runtime";
import { required } from "./required.ts";

/**
 * Returns the keystore's file and passphrase, by SIGNER_KEYSTORE_FILE and SIGNER_KEYSTORE_PASSPHRASE_FILE as
 * for the service.
 */
export const keystorePlace = (env: Env) => ({
  file: required(env, "SIGNER_KEYSTORE_FILE"),
  passphrase: readSecretFile(required(env, "SIGNER_KEYSTORE_PASSPHRASE_FILE")),
});
