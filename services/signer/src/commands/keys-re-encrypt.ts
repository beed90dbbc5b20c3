import { parseArgs } from "node:util";
import { type Command, readSecretFile, UsageError } from "@countersign/runtime";
import { reEncryptKeystore } from "../vault/index.ts";
import { keystorePlace } from "./open-keystore.ts";

/**
 * `signer keys re-encrypt`: writes the same keys under another passphrase, with a new salt. A running signer
 * goes on; its next start needs the new passphrase.
 */
export const keysReEncrypt: Command = {
  usage: "keys re-encrypt --new-passphrase-file <file>",
  async run({ args, env, print }) {
    const { values } = parseArgs({ args: [...args], options: { "new-passphrase-file": { type: "string" } } });
    const newFile = values["new-passphrase-file"];
    if (!newFile) throw new UsageError(keysReEncrypt.usage);
    const { file, passphrase } = keystorePlace(env);
    reEncryptKeystore(file, passphrase, readSecretFile(newFile));
    print(`${file} opens with the passphrase in ${newFile} from now on`);
    return 0;
  },
};
