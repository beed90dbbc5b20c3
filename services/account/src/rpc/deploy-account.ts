import { AppError, isUuid } from "@countersign/core";
import { PublicKeyError, parsePublicKey } from "@countersign/keys";
import type { AccountsService } from "@countersign/proto/account/v1/accounts.ts";
import { type Handler, publicKeyFromProto } from "@countersign/rpc";
import type { deployAccount } from "../domain/deploy-account.ts";
import { noProfiles } from "../domain/profiles.ts";
import { deploymentToProto } from "../messages.ts";

const MAX_WAIT_MS = 20_000;
const MAX_URL = 2048;

/** account.v1.Accounts/DeployAccount */
export const deployAccountRpc =
  (
    command: ReturnType<typeof deployAccount>,
    transactionUrl: (chainName: string, id: string) => string,
  ): Handler<AccountsService["deployAccount"]> =>
  async ({ accountId, chainName, userKey, profileImageUrl, waitMs }, call) => {
    if (!isUuid(accountId))
      throw new AppError("InvalidRequest", { fields: [{ pointer: "/accountId", detail: "not a UUID" }] });
    const { publicKey, algorithm } = publicKeyFromProto(userKey, "/userKey");
    try {
      const result = await command(
        {
          accountId,
          chainName,
          userKey: parsePublicKey(publicKey, algorithm),
          profileImageUrl: profileImageUrl.length <= MAX_URL ? profileImageUrl : "",
          waitMs: Math.min(Math.max(waitMs, 0), MAX_WAIT_MS),
        },
        call.signal,
      );
      // A new account has no name yet.
      return deploymentToProto(result, transactionUrl, noProfiles);
    } catch (error) {
      if (error instanceof PublicKeyError) throw new AppError("InvalidPublicKey", { detail: error.message });
      throw error;
    }
  };
