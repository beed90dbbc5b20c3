import { randomBytes } from "node:crypto";
import { AppError, type Clock } from "@countersign/core";
import { LOGIN_CHALLENGE_BYTES, type PublicKey, samePublicKey } from "@countersign/keys";
import type { IdentityStore, Login, VerifyLogin } from "../login.ts";
import { requireChainAndKey } from "../user-key.ts";
import { challengeTypeOf } from "./passkeys.ts";
import type { Challenge, ChallengeStore, FindSignInKey, ListPasskeys, SignInKey } from "./ports.ts";

/** How long a challenge can be answered. */
export const CHALLENGE_MS = 5 * 60_000;

/** The key that shall answer: a named one, or any passkey of the account with this login e-mail. */
export type Answerer =
  /** An account key or a device's identity key; the named one must sign. */
  | { readonly type: "device-key" | "passkey"; readonly publicKey: PublicKey }
  | { readonly type: "passkey"; readonly username: string };

interface IssueChallenge {
  readonly login: Login;
  readonly chainName: string;
  readonly answerer: Answerer;
}

export interface IssueChallengeOptions {
  readonly verifyLogin: VerifyLogin;
  readonly identities: IdentityStore;
  readonly challenges: ChallengeStore;
  readonly findSignInKey: FindSignInKey;
  readonly listPasskeys: ListPasskeys;
  readonly chains: ReadonlySet<string>;
  readonly clock: Clock;
  /** False only in development: key or e-mail alone then names the account. */
  readonly requireLoginToken: boolean;
  blockedKeys(accountId: string, now: Date): Promise<readonly PublicKey[]>;
  /** Whether the account's server key was revoked on every chain. */
  hasLeft(accountId: string): Promise<boolean>;
}

/**
 * Issues a challenge for a key that is registered for the identity's account. Another account's key, an
 * unregistered one and an e-mail that is not the login's give the same answer.
 * Errors: InvalidLoginToken, UnknownChain, PleaseRegisterKey, AccountLeft.
 */
export const issueChallenge = (options: IssueChallengeOptions) => {
  const { identities, challenges, clock } = options;

  /** Returns the account that the challenge is for, and the profile of its login. */
  async function findAccount(login: Login, answerer: Answerer) {
    const named = "publicKey" in answerer ? answerer.publicKey : undefined;
    if (login.method === "" && !options.requireLoginToken) {
      const accountId = named
        ? await identities.accountByKey(named)
        : await identities.accountByEmail("username" in answerer ? answerer.username : "");
      return { accountId, profile: undefined };
    }
    // A sign-in by name cannot bind the login to a key: the answer shows which passkey it is.
    const profile = await options.verifyLogin(login, named ? [named] : []);
    if ("username" in answerer && !isSameEmail(answerer.username, profile.email))
      return { accountId: undefined, profile };
    return { accountId: await identities.accountOf(profile.issuer, profile.subject), profile };
  }

  /** Returns the keys that may answer the challenge, at least one. Errors: PleaseRegisterKey, AccountLeft. */
  async function findAnswerers(accountId: string, chainName: string, answerer: Answerer): Promise<SignInKey[]> {
    const findKeys = async () =>
      "username" in answerer
        ? await options.listPasskeys(accountId, chainName)
        : [await options.findSignInKey(accountId, chainName, answerer.publicKey)];
    const [found, left, blocked] = await Promise.all([
      findKeys(),
      options.hasLeft(accountId),
      options.blockedKeys(accountId, clock.now()),
    ]);
    const fitting = found.filter(
      (key) => "username" in answerer || challengeTypeOf(key, answerer.publicKey) === answerer.type,
    );
    if (fitting.length === 0) throw new AppError("PleaseRegisterKey");
    if (left) throw new AppError("AccountLeft");
    const isBlocked = ({ accountKey, deviceKey }: SignInKey) =>
      blocked.some((key) => samePublicKey(key, accountKey) || samePublicKey(key, deviceKey));
    const answerers = fitting.filter((key) => !isBlocked(key));
    if (answerers.length === 0) throw new AppError("PleaseRegisterKey");
    return answerers;
  }

  return async ({ login, chainName, answerer }: IssueChallenge): Promise<Challenge> => {
    requireChainAndKey(options.chains, chainName);
    // Before the key is read, so that a revocation meanwhile is later.
    const now = clock.now();
    const { accountId, profile } = await findAccount(login, answerer);
    if (!accountId) throw new AppError("PleaseRegisterKey");
    const [key] = await findAnswerers(accountId, chainName, answerer);
    const signer = "publicKey" in answerer ? answerer.publicKey : undefined;
    const challenge: Challenge = {
      data: randomBytes(LOGIN_CHALLENGE_BYTES).toString("hex"),
      type: answerer.type,
      accountId,
      chainName,
      app: profile?.app ?? { appId: "development", appName: "Development" },
      signer,
      key: signer && key && { ...key, readAt: now },
      authTime: profile?.authTime,
      expiresAt: new Date(now.getTime() + CHALLENGE_MS),
    };
    await challenges.insert(challenge);
    return challenge;
  };
};

const isSameEmail = (a: string, b: string): boolean => a !== "" && a.trim().toLowerCase() === b.trim().toLowerCase();
