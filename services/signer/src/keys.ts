import { parseArgs } from "node:util";
import { readSecretFile } from "@countersign/service-kit";
import { createKeystoreVault, ensureKeystore } from "./vault/index.ts";

const USAGE = "usage: SIGNER_KEYSTORE_FILE=… SIGNER_KEYSTORE_PASSPHRASE_FILE=… node keys.ts init --chain <chain name>";

/** `init`: makes the keystore, or adds a chain's keys to it, and prints the public keys. Asked again it changes nothing. */
async function init(chainName: string): Promise<void> {
  const { SIGNER_KEYSTORE_FILE: file, SIGNER_KEYSTORE_PASSPHRASE_FILE: passphraseFile } = process.env;
  if (!file || !passphraseFile) throw new Error(USAGE);
  const vault = createKeystoreVault(ensureKeystore(file, readSecretFile(passphraseFile), chainName));
  const describe = async (role: "creator" | "paymaster") => ({
    publicKey: (await vault.publicKey({ role, chainName })).publicKey,
    hashAlgorithm: "SHA3_256",
  });
  console.log(
    JSON.stringify({ chainName, creator: await describe("creator"), paymaster: await describe("paymaster") }),
  );
}

const { positionals, values } = parseArgs({ allowPositionals: true, options: { chain: { type: "string" } } });
try {
  if (positionals[0] !== "init" || !values.chain) throw new Error(USAGE);
  await init(values.chain);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
