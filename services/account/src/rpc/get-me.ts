import type { AccountsService } from "@countersign/proto/account/v1/accounts.ts";
import { type Handler, requireToken } from "@countersign/rpc";
import type { getAccount } from "../domain/get-account.ts";
import type { Profiles } from "../domain/profiles.ts";
import { accountToProto } from "../messages.ts";

type Command = ReturnType<typeof getAccount>;

/** account.v1.Accounts/GetMe */
export const getMeRpc =
  (command: Command, profiles: Profiles): Handler<AccountsService["getMe"]> =>
  async (_, call) => {
    const { account } = await command(requireToken(call).accountId);
    return { account: accountToProto(account, await profiles.of(account)) };
  };
