import { AppError, type Clock, isAppError, uuidv4, uuidv7 } from "@countersign/core";
import { type Assertion, hexToBytes, type PasskeySettings, type PublicKey } from "@countersign/keys";
import { verifySignature } from "@countersign/keys/node";
import { beginSession, type Credentials, type Session } from "../sessions/session.ts";
import type { StepContext } from "../sign-up/sign-up-saga.ts";
import { findAsserted } from "./passkeys.ts";
import type {
  Challenge,
  ChallengeStore,
  FindSignInKey,
  ListPasskeys,
  PasskeyCounter,
  RecordKeyUse,
  SignInKey,
} from "./ports.ts";

/**
 * How long after it was read the challenge's own copy of the key is good. A key that is revoked meanwhile
 * keeps no session: `succeed` refuses keys that auth has blocked, and the event of the revocation, which may
 * be late, ends the sessions whose key was read before.
 */
const KEY_COPY_MS = 1_000;

/** The answer to a challenge, by its type. */
export type Answer =
  /** Over the challenge's bytes: raw or DER, or Ed25519's. */
  { readonly type: "device-key"; readonly signature: Uint8Array } | ({ readonly type: "passkey" } & Assertion);

interface RespondChallenge<Account> {
  /** Hex. */
  readonly data: string;
  readonly answer: Answer;
  readonly context: StepContext;
  /** Counts the request by its address. Errors: RateLimited. */
  count(): Promise<void>;
  /** Called with the account, once it is known. */
  readonly accountFound?: ((accountId: string) => void) | undefined;
  /** Reads the account for the response; it is passed on unread. */
  findAccount(accountId: string, chainName: string): Promise<Account>;
}

export interface RespondChallengeOptions {
  readonly challenges: ChallengeStore;
  readonly findSignInKey: FindSignInKey;
  readonly recordKeyUse: RecordKeyUse;
  readonly listPasskeys: ListPasskeys;
  readonly passkeys: PasskeySettings;
  readonly clock: Clock;
  /** Counts a right answer by its account and key. Errors: RateLimited. */
  limitSignIns(id: string): void;
  issue(session: Session): Promise<Credentials>;
}

/** The key that made an answer, and its counter where it is a passkey. */
interface Answerer {
  readonly key: PublicKey;
  readonly counter?: PasskeyCounter;
}

/** The begun session, for the response. */
export interface SignedIn<Account> {
  readonly account: Account;
  readonly accountId: string;
  readonly chainName: string;
  /** The key on chain of the device that signed in. */
  readonly accountKey: PublicKey;
  readonly origin: SignInKey["origin"];
  readonly credentials: Credentials;
}

/**
 * Checks the answer to a challenge and opens a session. A challenge succeeds once; the fifth wrong answer
 * ends it. All that the response needs is read before the session begins.
 * Errors: RateLimited, UnknownChallenge, ChallengeExpired, ChallengeTypeMismatch, InvalidSignature,
 * PleaseRegisterKey, Unavailable where the caller is gone.
 *
 * Writes: a wrong answer's count; or the used challenge, the passkey's counter and the session in one commit.
 * Crash: after that commit the credentials are lost: the client takes a new challenge.
 * Race: the first of two right answers uses the challenge up; the other is UnknownChallenge.
 */
export const respondChallenge = (options: RespondChallengeOptions) => {
  const { challenges, clock } = options;

  /** Returns the key that made the answer. Errors: InvalidSignature. */
  async function findAnswerer(challenge: Challenge, answer: Answer): Promise<Answerer> {
    const { data, accountId, chainName, signer, app } = challenge;
    const login = hexToBytes(data);
    if (answer.type === "device-key") {
      if (!signer || !verifySignature(signer, login, answer.signature)) throw new AppError("InvalidSignature");
      return { key: signer };
    }
    const passkeys = async () => (await options.listPasskeys(accountId, chainName)).map((each) => each.accountKey);
    const candidates = signer ? [signer] : await passkeys();
    const relyingParties = options.passkeys.relyingPartiesOf(app.appId);
    const counter = findAsserted(candidates, answer, { login }, relyingParties);
    return { key: counter.key, counter };
  }

  /** Returns the registration of the key that answered, and when it was read. Errors: PleaseRegisterKey. */
  async function findKey({ accountId, chainName, key: copy }: Challenge, key: PublicKey) {
    const now = clock.now();
    // The clock of the replica that read it may be ahead.
    if (copy && Math.abs(now.getTime() - copy.readAt.getTime()) < KEY_COPY_MS) {
      options.recordKeyUse(accountId, chainName, key, now);
      return copy;
    }
    // Dated before the question, so that a revocation meanwhile is later.
    return { ...(await options.findSignInKey(accountId, chainName, key, now)), readAt: now };
  }

  /** Checks the answer and opens the session. */
  async function open<Account>(challenge: Challenge, { answer, context, findAccount }: RespondChallenge<Account>) {
    const { key, counter } = await findAnswerer(challenge, answer);
    const { data, accountId, chainName, app, authTime } = challenge;
    // Each sign-in leaves a session for a week, and statements read those of an account.
    options.limitSignIns(`${accountId}/${key.publicKey}`);
    const [{ accountKey, deviceKey, origin, readAt }, account] = await Promise.all([
      findKey(challenge, key),
      findAccount(accountId, chainName),
    ]);
    const session = beginSession(
      { id: uuidv7(clock), refreshId: uuidv4(), accountId, app, deviceKey, accountKey, authTime },
      readAt,
      origin === "recovery" ? "recover" : "full",
    );
    // The device of a caller that is gone may have signed in since: this session would end that one.
    if (context.signal.aborted) throw new AppError("Unavailable");
    if (!(await challenges.succeed(data, session, context.requestId, counter))) throw new AppError("UnknownChallenge");
    return { session, origin, account };
  }

  return async <Account>(command: RespondChallenge<Account>): Promise<SignedIn<Account>> => {
    const { data, answer } = command;
    // Together: a request too many has read a row, and learns nothing of it.
    const [challenge] = await Promise.all([challenges.find(data), command.count()]);
    if (!challenge) throw new AppError("UnknownChallenge");
    command.accountFound?.(challenge.accountId);
    if (clock.now() >= challenge.expiresAt) throw new AppError("ChallengeExpired");
    if (answer.type !== challenge.type) throw new AppError("ChallengeTypeMismatch");
    const { session, origin, account } = await open(challenge, command).catch(async (error: unknown) => {
      // An answer of a key that is gone is wrong as well.
      const isWrong = isAppError(error, "InvalidSignature", "PleaseRegisterKey");
      // Of wrong answers that come at once, five are refused as such.
      if (isWrong && !(await challenges.countWrongAnswer(data))) throw new AppError("UnknownChallenge");
      throw error;
    });
    const { accountId, accountKey } = session;
    const { chainName } = challenge;
    return { account, accountId, chainName, accountKey, origin, credentials: await options.issue(session) };
  };
};
