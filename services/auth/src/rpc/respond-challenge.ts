import { AppError } from "@countersign/core";
import type { AccountsService } from "@countersign/proto/account/v1/accounts.ts";
import { ChallengeType, type RespondChallengeRequest, type SignInService } from "@countersign/proto/auth/v1/sign_in.ts";
import type { Handler, RpcClient } from "@countersign/rpc";
import type { Answer, respondChallenge } from "../domain/sign-in/respond-challenge.ts";
import type { TwoFactorSignInStore } from "../domain/two-factor/two-factor-sign-in.ts";
import type { Limit } from "./limits.ts";

/** DER of a P-256 signature has 72 bytes at most. */
const MAX_SIGNATURE_BYTES = 256;

/** auth.v1.SignIn/RespondChallenge */
export const respondChallengeRpc =
  (
    command: ReturnType<typeof respondChallenge>,
    accounts: Pick<RpcClient<AccountsService>, "getAccount">,
    additionOf: TwoFactorSignInStore["additionOf"],
    limit: Limit,
  ): Handler<SignInService["respondChallenge"]> =>
  async ({ challengeData, ...proof }, call) => {
    await limit(call);
    const { accountId, chainName, accountKey, credentials } = await command({
      data: challengeData.toString("hex"),
      answer: answerFrom(proof),
      requestId: call.requestId,
    });
    const [{ account, transaction }, addition] = await Promise.all([
      accounts.getAccount({ accountId, chainName }, { call, idempotent: true }),
      additionOf(accountId, chainName, accountKey),
    ]);
    return { account, transaction: addition ?? transaction, credentials };
  };

/** What is missing is empty, and as wrong as anything: a challenge of the other type says so first. Errors: InvalidSignature. */
function answerFrom({ challengeType, deviceKey, passkey }: Omit<RespondChallengeRequest, "challengeData">): Answer {
  const nothing = Buffer.alloc(0);
  const signature = (deviceKey ?? passkey)?.signature ?? nothing;
  if (signature.length > MAX_SIGNATURE_BYTES) throw new AppError("InvalidSignature");
  if (challengeType !== ChallengeType.CHALLENGE_TYPE_PASSKEY) return { type: "device-key", signature };
  return {
    type: "passkey",
    clientDataJSON: passkey?.clientDataJson ?? nothing,
    authenticatorData: passkey?.authenticatorData ?? nothing,
    signature,
  };
}
