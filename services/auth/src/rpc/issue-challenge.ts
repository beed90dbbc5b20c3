import { AppError } from "@countersign/core";
import { ChallengeType, type IssueChallengeRequest, type SignInService } from "@countersign/proto/auth/v1/sign_in.ts";
import type { Handler } from "@countersign/rpc";
import type { Answerer, issueChallenge } from "../domain/sign-in/issue-challenge.ts";
import type { Limit } from "./limits.ts";
import { loginFrom, nameFrom, publicKeyFrom } from "./messages.ts";

/** auth.v1.SignIn/IssueChallenge */
export const issueChallengeRpc =
  (command: ReturnType<typeof issueChallenge>, limit: Limit): Handler<SignInService["issueChallenge"]> =>
  async ({ login, chainName, ...wanted }, call) => {
    await limit(call);
    const challenge = await command({
      login: loginFrom(login),
      chainName: nameFrom(chainName, "/request/chainName"),
      answerer: answererFrom(wanted),
    });
    return { challengeData: Buffer.from(challenge.data, "hex"), expiresAt: challenge.expiresAt };
  };

/** Errors: InvalidRequest, InvalidPublicKey. */
function answererFrom({
  challengeType,
  publicKey,
  passkeyUsername,
}: Pick<IssueChallengeRequest, "challengeType" | "publicKey" | "passkeyUsername">): Answerer {
  switch (challengeType) {
    case ChallengeType.CHALLENGE_TYPE_DEVICE_KEY:
      return { type: "device-key", publicKey: publicKeyFrom(publicKey, "/publicKey") };
    case ChallengeType.CHALLENGE_TYPE_PASSKEY: {
      if (publicKey) return { type: "passkey", publicKey: publicKeyFrom(publicKey, "/publicKey") };
      const username = nameFrom(passkeyUsername, "/passKey/username");
      if (username !== "") return { type: "passkey", username };
      throw new AppError("InvalidRequest", {
        fields: [{ pointer: "/publicKey", detail: "a key or a username is needed" }],
      });
    }
    default:
      throw new AppError("InvalidRequest", { fields: [{ pointer: "/challengeType", detail: "unknown" }] });
  }
}
