import { AppError } from "@countersign/errors";
import type { AccountsService } from "@countersign/proto/account/v1/accounts.ts";
import { ChallengeType, type SignInService } from "@countersign/proto/auth/v1/sign_in.ts";
import type { Handlers, RpcClient } from "@countersign/service-kit";
import type { issueChallenge } from "../domain/issue-challenge.ts";
import type { respondChallenge } from "../domain/respond-challenge.ts";
import type { Limit } from "./limits.ts";
import { loginFrom, nameFrom, publicKeyFrom } from "./messages.ts";

export interface SignInOptions {
  readonly issue: ReturnType<typeof issueChallenge>;
  readonly respond: ReturnType<typeof respondChallenge>;
  readonly accounts: RpcClient<AccountsService>;
  readonly limit: Limit;
}

const MAX_SIGNATURE_BYTES = 256;

const notImplemented = (): never => {
  throw new AppError("NotImplemented");
};

/** auth.v1.SignIn */
export const signInRpcs = ({ issue, respond, accounts, limit }: SignInOptions): Handlers<SignInService> => ({
  async issueChallenge({ challengeType, login, chainName, publicKey }, call) {
    await limit(call);
    if (challengeType !== ChallengeType.CHALLENGE_TYPE_DEVICE_KEY) return notImplemented();
    const challenge = await issue({
      login: loginFrom(login),
      chainName: nameFrom(chainName, "/request/chainName"),
      publicKey: publicKeyFrom(publicKey, "/publicKey"),
    });
    return { challengeData: Buffer.from(challenge.data, "hex"), expiresAt: challenge.expiresAt };
  },

  async respondChallenge({ challengeType, challengeData, deviceKey }, call) {
    const isPasskey = challengeType === ChallengeType.CHALLENGE_TYPE_PASSKEY;
    const signature = deviceKey?.signature ?? Buffer.alloc(0);
    if (signature.length > MAX_SIGNATURE_BYTES) throw new AppError("InvalidSignature");
    const { accountId, chainName, credentials } = await respond({
      data: challengeData.toString("hex"),
      type: isPasskey ? "passkey" : "device-key",
      signature,
      requestId: call.requestId,
    });
    const { account, transaction } = await accounts.getAccount({ accountId, chainName }, { call, idempotent: true });
    return { account, transaction, credentials };
  },

  requestTwoFactor: async () => notImplemented(),
  finishTwoFactor: async () => notImplemented(),
});
