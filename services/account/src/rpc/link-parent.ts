import type { AccountsService } from "@countersign/proto/account/v1/accounts.ts";
import { type Handler, requireToken } from "@countersign/rpc";
import type { linkParent } from "../domain/link-parent.ts";
import type { Profiles } from "../domain/profiles.ts";
import { accountToProto } from "../messages.ts";
import { fromChain } from "./from-chain.ts";

/** account.v1.Accounts/LinkParent */
export const linkParentRpc =
  (command: ReturnType<typeof linkParent>, profiles: Profiles): Handler<AccountsService["linkParent"]> =>
  async (_, call) => {
    const account = await fromChain(command(requireToken(call).accountId, call.signal));
    return { account: accountToProto(account, await profiles.of(account)) };
  };
