import { AppError } from "@countersign/errors";
import { ChallengeType, type SignInService } from "@countersign/proto/auth/v1/sign_in.ts";
import type { Handler } from "@countersign/service-kit";
import type { issueChallenge } from "../domain/issue-challenge.ts";
import type { Limit } from "./limits.ts";
import { loginFrom, nameFrom, publicKeyFrom } from "./messages.ts";

/** auth.v1.SignIn/IssueChallenge */
export const issueChallengeRpc =
  (command: ReturnType<typeof issueChallenge>, limit: Limit): Handler<SignInService["issueChallenge"]> =>
  async ({ challengeType, login, chainName, publicKey }, call) => {
    await limit(call);
    if (challengeType !== ChallengeType.CHALLENGE_TYPE_DEVICE_KEY) throw new AppError("NotImplemented");
    const challenge = await command({
      login: loginFrom(login),
      chainName: nameFrom(chainName, "/request/chainName"),
      publicKey: publicKeyFrom(publicKey, "/publicKey"),
    });
    return { challengeData: Buffer.from(challenge.data, "hex"), expiresAt: challenge.expiresAt };
  };
