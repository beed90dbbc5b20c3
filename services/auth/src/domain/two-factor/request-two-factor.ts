import { AppError, type Clock, isAppError, uuidv4, uuidv7 } from "@countersign/core";
import { type PasskeySettings, type PublicKey, samePublicKey } from "@countersign/keys";
import type { Attestation, RequireAttestation } from "../attestation.ts";
import { idempotencyOf } from "../idempotency.ts";
import type { IdentityStore, Login, VerifyLogin } from "../login.ts";
import type { FindSignInKey, SignInKey } from "../sign-in/ports.ts";
import { type NewUserKey, requireChainAndKey, requireUsablePasskey } from "../user-key.ts";
import {
  EPHEMERAL_TOKEN_MS,
  type KeysOfDevice,
  type TwoFactorRequests,
  type TwoFactorSignIn,
  type TwoFactorSignInStore,
} from "./two-factor-sign-in.ts";

export interface RequestTwoFactor extends NewUserKey {
  readonly login: Login;
  readonly chainName: string;
  readonly idempotencyKey: string;
  readonly attestation: Attestation | undefined;
  /** The client's IP address; "" where it is unknown. */
  readonly ip: string;
  readonly requestId: string;
  /** Of the request, for the calls that are part of it. */
  readonly traceparent?: string | undefined;
  /** Called with the account, once it is known. */
  readonly accountFound?: ((accountId: string) => void) | undefined;
}

export interface RequestTwoFactorOptions<Opened> {
  readonly verifyLogin: VerifyLogin;
  readonly requireAttestation: RequireAttestation;
  readonly identities: IdentityStore;
  readonly signIns: TwoFactorSignInStore;
  readonly requests: Pick<TwoFactorRequests<Opened>, "open">;
  readonly findSignInKey: FindSignInKey;
  readonly chains: ReadonlySet<string>;
  readonly passkeys: PasskeySettings;
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
    const isWhole = ({ accountKey, deviceKey }: KeysOfDevice) =>
      samePublicKey(accountKey, keys.accountKey) && samePublicKey(deviceKey, keys.deviceKey);
    if (known.length > 0 && !known.some(isWhole)) throw new AppError("KeyAlreadyRegistered");
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

  return async (
    command: RequestTwoFactor,
    signal: AbortSignal,
  ): Promise<{ opened: Opened; ephemeralAccessToken: string }> => {
    const { login, chainName, userKeyType, accountKey, deviceKey, device, requestId, traceparent } = command;
    requireChainAndKey(options.chains, chainName, accountKey);
    const profile = await options.verifyLogin(login, [accountKey, deviceKey]);
    requireUsablePasskey(options.passkeys, profile.app.appId, command);
    await options.requireAttestation("enrollment", profile.app.appId, command);
    const accountId = await identities.accountOf(profile.issuer, profile.subject);
    if (!accountId) throw new AppError("AccountNotFound");
    command.accountFound?.(accountId);
    if (await options.hasLeft(accountId)) throw new AppError("AccountLeft");

    const idempotency = idempotencyOf("two-factor", login.token, command.idempotencyKey, [
      chainName,
      userKeyType,
      accountKey,
      deviceKey,
      device,
    ]);
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
    const from = { email: profile.email, ip: command.ip, recovering };
    const opened = await options.requests.open(signIn, from, { requestId, traceparent, signal });
    return { opened, ephemeralAccessToken: await options.issueEphemeral(signIn) };
  };
};
