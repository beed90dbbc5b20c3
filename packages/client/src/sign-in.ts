import type { ApiTransport } from "./http.ts";
import type { Challenge, DeviceAttributes, Login, SignedIn, UserKey } from "./resources.ts";
import { answerChallenge, isPasskey, userKeyBody } from "./user-key.ts";

/** Options of `client.signUp`. */
export interface SignUpOptions {
  /** The person's login, bound to this device's key by `client.loginNonce`. */
  login: Login;
  /** The chain on which the account is created. */
  chainName: string;
  /** This device, as its person will read of it. */
  device?: DeviceAttributes;
  /** Two sign-ups with the same key are one; without it none is sent twice. */
  idempotencyKey?: string;
}

/** For whom a challenge is asked. */
export interface ChallengeOptions {
  /** The person's login, where the service requires one. */
  login?: Login;
  /** The chain of the key. */
  chainName: string;
  /** For a passkey: the login's e-mail address. */
  username?: string;
}

/** See CountersignClient.signUp; `accessToken`: of an open session, for a further chain. */
export const signUp = (
  transport: ApiTransport,
  deviceKey: UserKey,
  { login, chainName, device, idempotencyKey }: SignUpOptions,
  attestation: object,
  accessToken: string | undefined,
): Promise<SignedIn> =>
  transport.send({
    operation: "signUp",
    method: "POST",
    path: "/auth/v1/signup",
    body: { ...login, chainName, userKey: userKeyBody(deviceKey, device), ...attestation },
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
