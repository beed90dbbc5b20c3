import { AppError, isUuid } from "@countersign/core";
import { PublicKeyError, parsePublicKey } from "@countersign/keys";
import type { AccountsService } from "@countersign/proto/account/v1/accounts.ts";
import { type Handlers, publicKeyFromProto, requireToken } from "@countersign/rpc";
import type { deployAccount } from "../domain/accounts/deploy-account.ts";
import type { getAccount } from "../domain/accounts/get-account.ts";
import type { linkParent } from "../domain/accounts/link-parent.ts";
import { noProfiles, type Profiles } from "../domain/accounts/profiles.ts";
import { accountToProto, deploymentToProto } from "../to-proto.ts";
import { fromChain } from "./conversions.ts";

const MAX_WAIT_MS = 20_000;
const MAX_URL_CHARS = 2048;

export interface AccountsOptions {
  readonly deploy: ReturnType<typeof deployAccount>;
  readonly get: ReturnType<typeof getAccount>;
  readonly link: ReturnType<typeof linkParent>;
  readonly profiles: Profiles;
  transactionUrl(chainName: string, id: string): string;
}

/** Handles account.v1.Accounts. */
export function accountsHandlers(options: AccountsOptions): Handlers<AccountsService> {
  const { deploy, get, link, profiles, transactionUrl } = options;
  return {
    async deployAccount({ accountId, chainName, userKey, profileImageUrl, waitMs, keepFailed }, call) {
      if (!isUuid(accountId))
        throw new AppError("InvalidRequest", { fields: [{ pointer: "/accountId", detail: "not a UUID" }] });
      const { publicKey, algorithm } = publicKeyFromProto(userKey, "/userKey");
      try {
        const result = await deploy(
          {
            accountId,
            chainName,
            userKey: parsePublicKey(publicKey, algorithm),
            profileImageUrl: profileImageUrl.length <= MAX_URL_CHARS ? profileImageUrl : "",
            keepFailed,
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
    },

    async getAccount({ accountId, chainName }) {
      if (!isUuid(accountId)) throw new AppError("AccountNotFound");
      const found = await get(accountId, chainName);
      return deploymentToProto(found, transactionUrl, await profiles.of(found.account));
    },

    async getMe(_, call) {
      const { account } = await get(requireToken(call).accountId);
      return { account: accountToProto(account, await profiles.of(account)) };
    },

    async linkParent(_, call) {
      const account = await fromChain(link(requireToken(call).accountId, call.signal));
      return { account: accountToProto(account, await profiles.of(account)) };
    },
  };
}
