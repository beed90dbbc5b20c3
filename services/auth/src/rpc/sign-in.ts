import { AppError, invalidField, isUuid } from "@countersign/core";
import type { AccountsService } from "@countersign/proto/account/v1/accounts.ts";
import {
  ChallengeType,
  type IssueChallengeRequest,
  type RespondChallengeRequest,
  type SignInService,
} from "@countersign/proto/auth/v1/sign_in.ts";
import type { TwoFactorAuth } from "@countersign/proto/device/v1/two_factor.ts";
import { accountOf, type Handlers, publicKeyFromProto, type RpcClient, requireToken } from "@countersign/rpc";
import type { Limit } from "../domain/limit.ts";
import { type Answerer, type IssueChallengeOptions, issueChallenge } from "../domain/sign-in/issue-challenge.ts";
import { type Answer, type RespondChallengeOptions, respondChallenge } from "../domain/sign-in/respond-challenge.ts";
import { type FinishTwoFactorOptions, finishTwoFactor } from "../domain/two-factor/finish-two-factor.ts";
import { type RequestTwoFactorOptions, requestTwoFactor } from "../domain/two-factor/request-two-factor.ts";
import type { TwoFactorSignInStore } from "../domain/two-factor/two-factor-sign-in.ts";
import { contextOf, loginFrom, nameFrom, newKeyRequestFrom } from "./conversions.ts";

/** More than any signature has: DER of P-256 has 72 bytes at most. */
const MAX_SIGNATURE_BYTES = 256;

interface SignInOptions
  extends IssueChallengeOptions,
    RespondChallengeOptions,
    RequestTwoFactorOptions<TwoFactorAuth>,
    FinishTwoFactorOptions {
  readonly signIns: TwoFactorSignInStore;
  readonly requests: RequestTwoFactorOptions<TwoFactorAuth>["requests"] & FinishTwoFactorOptions["requests"];
  readonly accounts: Pick<RpcClient<AccountsService>, "getAccount">;
  readonly limits: { readonly challenge: Limit; readonly respond: Limit; readonly twoFactor: Limit };
}

/** Handles auth.v1.SignIn. */
export function signInHandlers(options: SignInOptions): Handlers<SignInService> {
  const { accounts, limits, signIns } = options;
  const issue = issueChallenge(options);
  const respond = respondChallenge(options);
  const request = requestTwoFactor(options);
  const finish = finishTwoFactor(options);
  return {
    async issueChallenge({ login, chainName, ...wanted }, call) {
      await limits.challenge(call);
      const challenge = await issue({
        login: loginFrom(login),
        chainName: nameFrom(chainName, "/request/chainName"),
        answerer: answererFrom(wanted),
      });
      return { challengeData: Buffer.from(challenge.data, "hex"), expiresAt: challenge.expiresAt };
    },

    async respondChallenge({ challengeData, ...proof }, call) {
      const findAccount = (accountId: string, chainName: string) =>
        accounts.getAccount({ accountId, chainName }, { onBehalfOf: call, idempotent: true });
      const { account, accountId, chainName, accountKey, origin, credentials } = await respond({
        data: challengeData.toString("hex"),
        answer: answerFrom(proof),
        context: contextOf(call),
        count: () => limits.respond(call),
        accountFound: accountOf(call),
        findAccount,
      });
      const addition = origin === "two-factor" ? await signIns.additionOf(accountId, chainName, accountKey) : undefined;
      return { account: account.account, transaction: addition ?? account.transaction, credentials };
    },

    async requestTwoFactor(asked, call) {
      await limits.twoFactor(call);
      const { opened, ephemeralAccessToken } = await request({
        ...newKeyRequestFrom(asked, "/request/chainName", call),
        ip: call.clientIp ?? "",
        accessToken: call.token,
      });
      return { twoFactorAuth: opened, ephemeralAccessToken };
    },

    async finishTwoFactor({ twoFactorAuthRequestId }, call) {
      const token = requireToken(call);
      const id = twoFactorAuthRequestId.toLowerCase();
      if (!isUuid(id)) throw new AppError("TwoFactorAuthNotFound");
      const { accountId, chainName, transaction, credentials } = await finish({ token, id, context: contextOf(call) });
      const { account } = await accounts.getAccount({ accountId, chainName }, { onBehalfOf: call, idempotent: true });
      return { account, transaction, credentials };
    },
  };
}

/**
 * Returns the key that is to answer the challenge: one that is not on its curve is not registered.
 * Errors: InvalidRequest, InvalidPublicKey.
 */
function answererFrom({
  challengeType,
  publicKey,
  passkeyUsername,
}: Pick<IssueChallengeRequest, "challengeType" | "publicKey" | "passkeyUsername">): Answerer {
  switch (challengeType) {
    case ChallengeType.CHALLENGE_TYPE_DEVICE_KEY:
      return { type: "device-key", publicKey: publicKeyFromProto(publicKey, "/publicKey") };
    case ChallengeType.CHALLENGE_TYPE_PASSKEY: {
      if (publicKey) return { type: "passkey", publicKey: publicKeyFromProto(publicKey, "/publicKey") };
      const username = nameFrom(passkeyUsername, "/passKey/username");
      if (username !== "") return { type: "passkey", username };
      throw invalidField("/publicKey", "a key or a username is needed");
    }
    default:
      throw invalidField("/challengeType", "unknown");
  }
}

/**
 * Reads an answer; missing parts are empty, so that a challenge of the other type is refused for its type
 * first.
 * Errors: InvalidSignature.
 */
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
