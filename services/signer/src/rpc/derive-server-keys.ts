import type { CreationService } from "@countersign/proto/signer/v1/creation.ts";
import { type Handler, publicKeyToProto } from "@countersign/rpc";
import type { deriveServerKeys } from "../domain/derive-server-keys.ts";
import { requireAccountIds } from "./account-ids.ts";

/** signer.v1.Creation/DeriveServerKeys */
export const deriveServerKeysRpc =
  (command: ReturnType<typeof deriveServerKeys>): Handler<CreationService["deriveServerKeys"]> =>
  async ({ chainName, accountIds }) => {
    requireAccountIds(accountIds, "/accountIds");
    const { version, publicKeys } = await command(chainName, accountIds);
    return {
      serverKeys: publicKeys.map((key, i) => ({
        accountId: accountIds[i]!,
        publicKey: publicKeyToProto(key),
        version,
      })),
    };
  };
