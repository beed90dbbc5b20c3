import { AppError, type Clock, isAppError, uuidv4, uuidv7, type VerifiedToken } from "@countersign/core";
import { type PublicKey, samePublicKey } from "@countersign/keys";
import type { IdentityStore } from "../login.ts";
import { idempotencyOf, type NewKeyOptions, type NewKeyRequest, verifyNewKeyRequest } from "../new-key-request.ts";
import type { FindSignInKey, SignInKey } from "../sign-in/ports.ts";
import { type KeysOfDevice, sameKeys } from "../user-key.ts";
import {
  EPHEMERAL_TOKEN_MS,
  type TwoFactorRequests,
  type TwoFactorSignIn,
  type TwoFactorSignInStore,
} from "./two-factor-sign-in.ts";

export interface RequestTwoFactor extends NewKeyRequest {
  /** The client's IP address; "" where it is unknown. */
  readonly ip: string;
  /** The access token that came along; only a recovery session's counts. */
  readonly accessToken: Pick<VerifiedToken, "accountId" | "scope"> | undefined;
}

export interface RequestTwoFactorOptions<Opened> extends NewKeyOptions {
  readonly identities: IdentityStore;
  readonly signIns: TwoFactorSignInStore;
  readonly requests: Pick<TwoFactorRequests<Opened>, "open">;
  readonly findSignInKey: FindSignInKey;
  readonly clock: Clock;
  issueEphemeral(signIn: TwoFactorSignIn): Promise<string>;
  /** Whether the account's server key was revoked on every chain. */
  hasLeft(accountId: string): Promise<boolean>;
}

/**
 * Requests the account's devices to approve a new one. The row is committed before the request is opened with
 * its id, so that a retry opens no second request; a retry gets a new token that ends when the first one
 * does.
 * Errors: see auth.v1.SignIn/RequestTwoFactor.
 *
 * Writes: the use of the attestation; the sign-in with the use of the Idempotency-Key in one commit; then the
 * device service's request.
 * Crash: in between, a retry with the same Idempotency-Key opens the request; without one the row expires.
 * Race: requests with one Idempotency-Key come one after the other; the device service opens an id once.
 */
export const requestTwoFactor = <Opened>(options: RequestTwoFactorOptions<Opened>) => {
  const { identities, signIns, clock } = options;

  /**
   * Rejects one key of a device that is on the account already, on another chain, without its other key.
   * Nothing proves that the keys are the requesting device's own: another account key would get that device's
   * name and age, and the removal of another identity would block its account key.
   * Errors: KeyAlreadyRegistered.
   */
  async function requireWholeDevice(accountId: string, keys: KeysOfDevice): Promise<void> {
    const known = await signIns.devicesWith(accountId, keys);
    if (known.length > 0 && !known.some((each) => sameKeys(each, keys))) throw new AppError("KeyAlreadyRegistered");
  }

  async function requireNewKeys(accountId: string, chainName: string, keys: readonly PublicKey[]): Promise<void> {
    const verdict = await signIns.mayEnroll(accountId, keys);
    if (verdict === "frozen") throw new AppError("AccountFrozen");
    // A blocked key belonged to the account and is not enrolled again; another key can be.
    if (verdict === "blocked") throw new AppError("KeyAlreadyRegistered");
    // On another chain a device may have the same keys; a recovery key is nobody's device.
    const isTaken = async (chain: string, key: PublicKey): Promise<boolean> => {
      const found = await findRegistered(accountId, chain, key);
      return found !== undefined && (chain === chainName || found.origin === "recovery");
    };
    const onChains = [...options.chains].flatMap((chain) => keys.map((key) => isTaken(chain, key)));
    if ((await Promise.all(onChains)).includes(true)) throw new AppError("KeyAlreadyRegistered");
  }

  const findRegistered = (accountId: string, chainName: string, key: PublicKey): Promise<SignInKey | undefined> =>
    options.findSignInKey(accountId, chainName, key).catch((error) => {
      if (isAppError(error, "PleaseRegisterKey")) return undefined;
      throw error;
    });

  return async (command: RequestTwoFactor): Promise<{ opened: Opened; ephemeralAccessToken: string }> => {
    const { chainName, userKeyType, accountKey, deviceKey, device } = command;
    const profile = await verifyNewKeyRequest(options, "enrollment", command);
    const accountId = await identities.accountOf(profile.issuer, profile.subject);
    if (!accountId) throw new AppError("AccountNotFound");
    command.accountFound?.(accountId);
    if (await options.hasLeft(accountId)) throw new AppError("AccountLeft");

    const idempotency = idempotencyOf("two-factor", command);
    const before = idempotency && (await signIns.replayOf(idempotency));
    // A retry is answered also where its key was enrolled meanwhile.
    const keys = samePublicKey(accountKey, deviceKey) ? [accountKey] : [accountKey, deviceKey];
    if (!before) {
      await requireNewKeys(accountId, chainName, keys);
      await requireWholeDevice(accountId, command);
    }

    const now = clock.now();
    const begun =
      before ??
      (await signIns.begin(
        {
          id: uuidv7(clock),
          accountId,
          chainName,
          app: profile.app,
          userKeyType,
          accountKey,
          deviceKey,
          device,
          tokenId: uuidv4(),
          authTime: profile.authTime,
          createdAt: now,
          expiresAt: new Date(now.getTime() + EPHEMERAL_TOKEN_MS),
          enrolledAt: undefined,
          finishedAt: undefined,
        },
        idempotency,
      ));
    if (begun.kind === "idempotency-key-reused") throw new AppError("IdempotencyKeyReused");
    const { signIn } = begun;
    if (signIn.accountId !== accountId) throw new AppError("IdempotencyKeyReused");
    if (signIn.expiresAt <= now) throw new AppError("TwoFactorAuthExpired");
    const recovering = await signIns.isRecovering(accountId, now);
    const byRecoverySession = command.accessToken?.scope === "recover" && command.accessToken.accountId === accountId;
    const from = { email: profile.email, ip: command.ip, recovering, byRecoverySession };
    const opened = await options.requests.open(signIn, from, command.context);
    return { opened, ephemeralAccessToken: await options.issueEphemeral(signIn) };
  };
};
