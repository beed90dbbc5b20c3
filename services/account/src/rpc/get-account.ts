import { AppError, isUuid } from "@countersign/core";
import type { AccountsService } from "@countersign/proto/account/v1/accounts.ts";
import type { Handler } from "@countersign/rpc";
import type { getAccount } from "../domain/get-account.ts";
import type { Profiles } from "../domain/profiles.ts";
import { deploymentToProto } from "../messages.ts";

type Command = ReturnType<typeof getAccount>;

/** account.v1.Accounts/GetAccount */
export const getAccountRpc =
  (
    command: Command,
    transactionUrl: (chainName: string, id: string) => string,
    profiles: Profiles,
  ): Handler<AccountsService["getAccount"]> =>
  async ({ accountId, chainName }) => {
    if (!isUuid(accountId)) throw new AppError("AccountNotFound");
    const found = await command(accountId, chainName);
    return deploymentToProto(found, transactionUrl, await profiles.of(found.account));
  };
