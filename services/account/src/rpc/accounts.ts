import { AppError, isUuid, type VerifiedToken } from "@countersign/core";
import type { AccountsService } from "@countersign/proto/account/v1/accounts.ts";
import { type Handlers, requireToken, validPublicKeyFromProto } from "@countersign/rpc";
import { findAccount } from "../domain/accounts/account-on-chain.ts";
import type { cancelDeployment } from "../domain/accounts/cancel-deployment.ts";
import type { deployAccount } from "../domain/accounts/deploy-account.ts";
import type { linkParent } from "../domain/accounts/link-parent.ts";
import { noProfiles, type Profiles } from "../domain/accounts/profiles.ts";
import type { AccountStore } from "../domain/ports.ts";
import { accountToProto, deploymentToProto, type TransactionUrl } from "../to-proto.ts";
import { fromChain, uuidFrom } from "./conversions.ts";

const MAX_WAIT_MS = 20_000;
const MAX_URL_CHARS = 2048;

export interface AccountsOptions {
  readonly accounts: Pick<AccountStore, "find">;
  readonly cancel: ReturnType<typeof cancelDeployment>;
  readonly deploy: ReturnType<typeof deployAccount>;
  readonly link: ReturnType<typeof linkParent>;
  readonly profiles: Profiles;
  /** Counts a request that reads the chain. Errors: RateLimited. */
  readsChain(by: VerifiedToken): void;
  readonly transactionUrl: TransactionUrl;
}

/** Handles account.v1.Accounts. */
export function accountsHandlers(options: AccountsOptions): Handlers<AccountsService> {
  const { accounts, cancel, deploy, link, profiles, transactionUrl } = options;
  return {
    async deployAccount({ accountId, chainName, userKey, profileImageUrl, waitMs, keepFailed }, call) {
      const command = {
        accountId: uuidFrom(accountId, "/accountId"),
        chainName,
        userKey: validPublicKeyFromProto(userKey, "/userKey"),
        profileImageUrl: profileImageUrl.length <= MAX_URL_CHARS ? profileImageUrl : "",
        keepFailed,
        waitMs: Math.min(Math.max(waitMs, 0), MAX_WAIT_MS),
      };
      // A new account has no name yet.
      return deploymentToProto(await deploy(command, call.signal), transactionUrl, noProfiles);
    },

    async cancelDeployment({ accountId, chainName, userKey }) {
      const named = { accountId: uuidFrom(accountId, "/accountId"), chainName };
      await cancel({ ...named, userKey: validPublicKeyFromProto(userKey, "/userKey") });
      return {};
    },

    async getAccount({ accountId, chainName }) {
      if (!isUuid(accountId)) throw new AppError("AccountNotFound");
      const found = await findAccount(accounts, accountId, chainName);
      return deploymentToProto(found, transactionUrl, await profiles.of(found.account));
    },

    async getMe(_, call) {
      const { account } = await findAccount(accounts, requireToken(call).accountId);
      return { account: accountToProto(account, await profiles.of(account)) };
    },

    async linkParent(_, call) {
      const token = requireToken(call);
      options.readsChain(token);
      const account = await fromChain(link(token.accountId, call.signal));
      return { account: accountToProto(account, await profiles.of(account)) };
    },
  };
}
