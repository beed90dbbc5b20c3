import { type Env, loadEnv, readSecretFile } from "@countersign/runtime";
import { z } from "zod";

const settings = z.object({ SIGNER_KEYSTORE_FILE: z.string(), SIGNER_KEYSTORE_PASSPHRASE_FILE: z.string() });

/** Returns the keystore's file and passphrase, which the environment names as for the service. */
export function keystorePlace(env: Env) {
  const { SIGNER_KEYSTORE_FILE: file, SIGNER_KEYSTORE_PASSPHRASE_FILE: passphraseFile } = loadEnv(settings, env);
  return { file, passphrase: readSecretFile(passphraseFile) };
}
