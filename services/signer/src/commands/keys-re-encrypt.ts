import { command, readSecretFile, UsageError } from "@countersign/runtime";
import { reEncryptKeystore } from "../vault/index.ts";
import { keystorePlace } from "./keystore-place.ts";

/**
 * `signer keys re-encrypt`: writes the same keys under another passphrase, with a new salt. A running signer
 * goes on; its next start needs the new passphrase.
 */
export const keysReEncrypt = command({
  usage: "keys re-encrypt --new-passphrase-file <file>",
  about: "Writes the same keys under another passphrase; the next start of the signer needs it.",
  options: { "new-passphrase-file": { type: "string" } },
  async run({ values, env, print }) {
    const newFile = values["new-passphrase-file"];
    if (!newFile) throw new UsageError(this.usage);
    const { file, passphrase } = keystorePlace(env);
    reEncryptKeystore(file, passphrase, readSecretFile(newFile));
    print(`${file} opens with the passphrase in ${newFile} from now on`);
  },
});
