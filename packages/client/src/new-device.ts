import { throwIfAborted } from "@countersign/flow";
import type { ApiTransport } from "./http.ts";
import { ProblemError } from "./problem-error.ts";
import type { DeviceAttributes, Login, SignedIn, TwoFactorRequested, UserKey } from "./resources.ts";
import { isAnswerLost } from "./retry.ts";
import { sleep } from "./sleep.ts";
import { userKeyBody } from "./user-key.ts";

/** Options of `client.requestTwoFactor`. */
export interface RequestTwoFactorOptions {
  /** The person's login, bound to this device's key by `client.loginNonce`. */
  login: Login;
  /** The chain whose account gets the key. */
  chainName: string;
  /** This device, as the approving person reads of it. */
  device?: DeviceAttributes;
  /** Two requests with the same key are one. */
  idempotencyKey?: string;
  /** Of a recovery session of the account: requests of others do not fill this one's place. */
  recoveryToken?: string;
}

const ASK_AGAIN_MS = 1_000;
const UNREACHABLE_MS = 2_000;

/** Requests the enrollment of this device. */
export function requestTwoFactor(
  transport: ApiTransport,
  key: UserKey,
  { login, chainName, device, idempotencyKey, recoveryToken }: RequestTwoFactorOptions,
  attestation: object,
): Promise<TwoFactorRequested> {
  return transport.send({
    operation: "requestTwoFactor",
    method: "POST",
    path: "/auth/v1/signin/2fa",
    body: {
      request: { ...login, chainName },
      userKey: userKeyBody(key, device),
      ...attestation,
    },
    accessToken: recoveryToken,
    headers: idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey },
  });
}

/** Opens the session of an approved request. */
export const finishTwoFactor = (
  transport: ApiTransport,
  id: string,
  accessToken: string,
  signal?: AbortSignal,
): Promise<SignedIn> =>
  transport.send({
    operation: "finishTwoFactor",
    method: "POST",
    path: "/auth/v1/signin/2fa/finish",
    body: { twoFactorAuthRequestId: id },
    accessToken,
    signal,
  });

/** Returns the milliseconds until the next attempt; undefined where the answer is final. */
function askAgainMs(error: unknown): number | undefined {
  if (!(error instanceof ProblemError)) return isAnswerLost(error) ? UNREACHABLE_MS : undefined;
  const waits = error.error === "TwoFactorAuthPending" || error.status === 429;
  if (!waits && error.status < 500) return undefined;
  const least = waits ? ASK_AGAIN_MS : UNREACHABLE_MS;
  return Math.max(least, (error.retryAfterSeconds ?? 0) * 1_000);
}

/** Tries to finish, as often as the server allows, until its answer is final or the signal aborts. */
export async function waitForTwoFactor(
  finish: () => Promise<SignedIn>,
  signal: AbortSignal | undefined,
): Promise<SignedIn> {
  for (;;) {
    throwIfAborted(signal);
    let waitMs: number | undefined;
    try {
      return await finish();
    } catch (error) {
      throwIfAborted(signal);
      waitMs = askAgainMs(error);
      if (waitMs === undefined) throw error;
    }
    await sleep(waitMs, signal);
  }
}
