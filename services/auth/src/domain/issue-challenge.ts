import { randomBytes } from "node:crypto";
import { AppError } from "@countersign/errors";
import type { PublicKey } from "@countersign/keys";
import type { Clock } from "@countersign/service-kit";
import { requireChainAndKey } from "./chains.ts";
import type { Login, VerifyLogin } from "./login.ts";
import type { Challenge, ChallengeStore, FindSignInKey, IdentityStore } from "./ports.ts";

/** Never 32: a passkey that is an account key signs 32-byte digests as transactions, and a login must never be able to be one. */
const CHALLENGE_BYTES = 16;
export const CHALLENGE_MS = 5 * 60_000;

export interface IssueChallenge {
  readonly login: Login;
  readonly chainName: string;
  /** An account key or a device's identity key; the named one must sign. */
  readonly publicKey: PublicKey;
}

export interface IssueChallengeOptions {
  readonly verifyLogin: VerifyLogin;
  readonly identities: IdentityStore;
  readonly challenges: ChallengeStore;
  readonly findSignInKey: FindSignInKey;
  readonly chains: ReadonlySet<string>;
  readonly clock: Clock;
  /** False only in development: then the key alone says whose challenge it is. */
  readonly requireLoginToken: boolean;
  isKeyBlocked(accountId: string, key: PublicKey): boolean;
  /** Whether the account's server key is gone from every chain. */
  hasLeft(accountId: string): Promise<boolean>;
}

/**
 * Issues a challenge for a key that is registered for the identity's account. A key that is somebody else's answers the same as one that is nobody's.
 * Errors: InvalidLoginToken, UnknownChain, PleaseRegisterKey, AccountLeft.
 */
export const issueChallenge =
  (options: IssueChallengeOptions) =>
  async ({ login, chainName, publicKey }: IssueChallenge): Promise<Challenge> => {
    const { identities, challenges, findSignInKey, clock } = options;
    requireChainAndKey(options.chains, chainName);
    const now = clock.now();
    const anonymous = login.method === "" && !options.requireLoginToken;
    const profile = anonymous ? undefined : await options.verifyLogin(login, [publicKey]);
    const accountId = profile
      ? await identities.accountOf(profile.issuer, profile.subject)
      : await identities.accountByKey(publicKey);
    if (!accountId) throw new AppError("PleaseRegisterKey");
    const { accountKey, deviceKey } = await findSignInKey(accountId, chainName, publicKey);
    if (await options.hasLeft(accountId)) throw new AppError("AccountLeft");
    if (options.isKeyBlocked(accountId, accountKey) || options.isKeyBlocked(accountId, deviceKey)) {
      throw new AppError("PleaseRegisterKey");
    }
    const challenge: Challenge = {
      data: randomBytes(CHALLENGE_BYTES).toString("hex"),
      type: "device-key",
      accountId,
      chainName,
      app: profile?.app ?? { appId: "development", appName: "Development" },
      signer: publicKey,
      authTime: profile?.authTime ?? now,
      expiresAt: new Date(now.getTime() + CHALLENGE_MS),
    };
    await challenges.insert(challenge);
    return challenge;
  };
