import { AppError } from "@countersign/errors";
import { hexToBytes, type PublicKey } from "@countersign/keys";
import { verifySignature } from "@countersign/keys/node";
import { type Clock, uuidv4, uuidv7 } from "@countersign/service-kit";
import type { ChallengeStore, FindSignInKey } from "./ports.ts";
import { beginSession, type Credentials, type Session } from "./session.ts";

export interface RespondChallenge {
  /** Hex. */
  readonly data: string;
  readonly type: "device-key" | "passkey";
  readonly signature: Uint8Array;
  readonly requestId: string;
}

export interface RespondChallengeOptions {
  readonly challenges: ChallengeStore;
  readonly findSignInKey: FindSignInKey;
  readonly clock: Clock;
  isKeyBlocked(accountId: string, key: PublicKey): boolean;
  issue(session: Session): Promise<Credentials>;
}

/** Where the session begins, for the answer. */
export interface SignedIn {
  readonly accountId: string;
  readonly chainName: string;
  /** The key on chain of the device that signed in. */
  readonly accountKey: PublicKey;
  readonly credentials: Credentials;
}

/**
 * Checks the answer to a challenge and opens a session. Succeeds once, ever; the fifth wrong answer ends the challenge.
 * Errors: UnknownChallenge, ChallengeExpired, ChallengeTypeMismatch, InvalidSignature, PleaseRegisterKey.
 */
export const respondChallenge =
  ({ challenges, findSignInKey, clock, isKeyBlocked, issue }: RespondChallengeOptions) =>
  async ({ data, type, signature, requestId }: RespondChallenge): Promise<SignedIn> => {
    const challenge = await challenges.find(data);
    if (!challenge) throw new AppError("UnknownChallenge");
    if (clock.now() >= challenge.expiresAt) throw new AppError("ChallengeExpired");
    if (type !== challenge.type) throw new AppError("ChallengeTypeMismatch");
    // Counted before it is looked at: answers that come at once share the five.
    if (!(await challenges.attempt(data))) throw new AppError("UnknownChallenge");
    if (!verifySignature(challenge.signer, hexToBytes(data), signature)) throw new AppError("InvalidSignature");

    // What grants reads its owner again: the key may have been revoked or blocked since the challenge was issued.
    const { accountId, chainName, signer, app, authTime } = challenge;
    const { accountKey, deviceKey } = await findSignInKey(accountId, chainName, signer);
    if (isKeyBlocked(accountId, accountKey) || isKeyBlocked(accountId, deviceKey))
      throw new AppError("PleaseRegisterKey");
    const now = clock.now();
    const session = beginSession(
      { id: uuidv7(clock), refreshId: uuidv4(), accountId, app, deviceKey, accountKey, authTime },
      now,
    );
    if (!(await challenges.succeed(data, session, now, requestId))) throw new AppError("UnknownChallenge");
    return { accountId, chainName, accountKey, credentials: await issue(session) };
  };
