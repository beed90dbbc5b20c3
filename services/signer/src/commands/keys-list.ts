import { command } from "@countersign/runtime";
import { keyVersions, readKeystore } from "../vault/index.ts";
import { keystorePlace } from "./keystore-place.ts";

/** `signer keys list`: which versions of which keys the keystore file holds. */
export const keysList = command({
  usage: "keys list",
  about: "Lists which versions of which keys the keystore file holds.",
  options: {},
  async run({ env, print }) {
    const { file, passphrase } = keystorePlace(env);
    const { audit, chains, server } = keyVersions(readKeystore(file, passphrase));
    const line = (role: string, chainName: string, versions: readonly number[]) =>
      print(`${role.padEnd(10)} ${chainName.padEnd(20)} ${versions.join(", ") || "none"}`);
    print("role       chain                versions");
    line("audit", "-", audit);
    for (const { chainName, creator, paymaster } of chains) {
      line("creator", chainName, creator);
      line("paymaster", chainName, paymaster);
    }
    line("server", "every chain", server);
    print("server keys are derived from the root secret of their version, for each account and chain");
  },
});
