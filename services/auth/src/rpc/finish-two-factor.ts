import { AppError, isUuid } from "@countersign/core";
import type { AccountsService } from "@countersign/proto/account/v1/accounts.ts";
import type { SignInService } from "@countersign/proto/auth/v1/sign_in.ts";
import { type Handler, type RpcClient, requireToken } from "@countersign/rpc";
import type { finishTwoFactor } from "../domain/two-factor/finish-two-factor.ts";

/** auth.v1.SignIn/FinishTwoFactor */
export const finishTwoFactorRpc =
  (
    command: ReturnType<typeof finishTwoFactor>,
    accounts: Pick<RpcClient<AccountsService>, "getAccount">,
  ): Handler<SignInService["finishTwoFactor"]> =>
  async ({ twoFactorAuthRequestId: written }, call) => {
    const token = requireToken(call);
    const id = written.toLowerCase();
    if (!isUuid(id)) throw new AppError("TwoFactorAuthNotFound");
    const { accountId, chainName, transaction, credentials } = await command(
      { token, id, requestId: call.requestId },
      call.signal,
    );
    const { account } = await accounts.getAccount({ accountId, chainName }, { call, idempotent: true });
    return { account, transaction, credentials };
  };
