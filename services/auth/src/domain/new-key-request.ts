import type { PasskeySettings } from "@countersign/keys";
import type { Attestation, RequireAttestation } from "./attestation.ts";
import { hashOf, type Idempotency } from "./idempotency.ts";
import type { Login, LoginProfile, VerifyLogin } from "./login.ts";
import type { StepContext } from "./sign-up/sign-up-saga.ts";
import { type NewUserKey, requireChainAndKey, requireUsablePasskey } from "./user-key.ts";

/** A request for a key on a chain by a person who logged in: a sign-up, or the enrollment of a new device. */
export interface NewKeyRequest extends NewUserKey {
  readonly login: Login;
  readonly chainName: string;
  readonly idempotencyKey: string;
  readonly attestation: Attestation | undefined;
  readonly context: StepContext;
  /** Called with the account, once it is known. */
  readonly accountFound?: ((accountId: string) => void) | undefined;
}

export interface NewKeyOptions {
  readonly verifyLogin: VerifyLogin;
  readonly requireAttestation: RequireAttestation;
  readonly chains: ReadonlySet<string>;
  readonly passkeys: PasskeySettings;
}

/**
 * Returns the profile of the login. Errors: UnknownChain, UnsupportedKey; those of VerifyLogin and of
 * RequireAttestation.
 */
export async function verifyNewKeyRequest(
  { verifyLogin, requireAttestation, chains, passkeys }: NewKeyOptions,
  operation: Parameters<RequireAttestation>[0],
  request: NewKeyRequest,
): Promise<LoginProfile> {
  const { login, chainName, accountKey, deviceKey } = request;
  requireChainAndKey(chains, chainName, accountKey);
  const profile = await verifyLogin(login, [accountKey, deviceKey]);
  requireUsablePasskey(passkeys, profile.app.appId, request);
  await requireAttestation(operation, profile.app.appId, request);
  return profile;
}

/**
 * Returns a request's Idempotency-Key as it is stored, hashed together with route and login token; undefined
 * without one.
 */
export const idempotencyOf = (route: string, request: NewKeyRequest): Idempotency | undefined => {
  const { login, idempotencyKey, chainName, userKeyType, accountKey, deviceKey, device } = request;
  if (idempotencyKey === "") return undefined;
  const body = [chainName, userKeyType, accountKey, deviceKey, device];
  return { id: hashOf([route, login.token, idempotencyKey]), fingerprint: hashOf(body) };
};
