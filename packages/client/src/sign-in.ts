import type { ApiTransport } from "./http.ts";
import type { Challenge, DeviceAttributes, Login, SignedIn, UserKey } from "./resources.ts";
import { answerChallenge, isPasskey, userKeyBody } from "./user-key.ts";

export interface SignUpOptions {
  login: Login;
  chainName: string;
  device?: DeviceAttributes;
  idempotencyKey?: string;
}

/** For whom a challenge is asked. */
export interface ChallengeOptions {
  login?: Login;
  chainName: string;
  username?: string;
}

/** See CountersignClient.signUp; `accessToken`: of an open session, for a further chain. */
export const signUp = (
  transport: ApiTransport,
  deviceKey: UserKey,
  { login, chainName, device, idempotencyKey }: SignUpOptions,
  accessToken: string | undefined,
): Promise<SignedIn> =>
  transport.send({
    operation: "signUp",
    method: "POST",
    path: "/auth/v1/signup",
    body: { ...login, chainName, userKey: userKeyBody(deviceKey, device) },
    accessToken,
    headers: idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey },
  });

/** See CountersignClient.requestChallenge. */
export function requestChallenge(
  transport: ApiTransport,
  deviceKey: UserKey,
  { login, chainName, username }: ChallengeOptions,
): Promise<Challenge> {
  const { publicKey, algorithm } = deviceKey;
  return transport.send({
    operation: "requestChallenge",
    method: "POST",
    path: "/auth/v1/signin/challenge",
    body: {
      challengeType: isPasskey(deviceKey) ? "passKey" : "deviceKey",
      request: { ...login, chainName },
      ...(username === undefined ? { publicKey, algorithm } : { passKey: { username } }),
    },
  });
}

/** See CountersignClient.respondChallenge. */
export const respondChallenge = async (
  transport: ApiTransport,
  deviceKey: UserKey,
  challengeData: string,
): Promise<SignedIn> =>
  transport.send({
    operation: "respondChallenge",
    method: "POST",
    path: "/auth/v1/signin/challenge/respond",
    body: await answerChallenge(deviceKey, challengeData),
  });
