import { publicKeyFingerprint } from "@countersign/keys";
import { AccountOperations } from "./account-operations.ts";
import { CorrectedClock, type ServerClock } from "./clock.ts";
import { type CredentialStore, storeOf } from "./credential-store.ts";
import { defaultEvents, type EventTransport, type Fetch } from "./event-transport.ts";
import { type AccountEvent, type EventOptions, followEvents } from "./events.ts";
import { ApiTransport } from "./http.ts";
import { type LockManager, platformLocks } from "./locks.ts";
import { matchingCode, type RandomBytes } from "./matching-code.ts";
import { finishTwoFactor, type RequestTwoFactorOptions, requestTwoFactor, waitForTwoFactor } from "./new-device.ts";
import { ProblemError, SessionEndedError } from "./problem-error.ts";
import type { Challenge, Credentials, SignedIn, TwoFactorRequested, UserKey } from "./resources.ts";
import { ClientSession } from "./session.ts";
import type { SessionView } from "./session-state.ts";
import { type ChallengeOptions, requestChallenge, respondChallenge, type SignUpOptions, signUp } from "./sign-in.ts";
import { type Attest, attestationOf } from "./user-key.ts";

/** Options of a client. */
export interface ClientOptions {
  /** The base URL of the gateway, such as `http://localhost:8080`. */
  baseUrl: string;
  /** This device's key, or a passkey in its place: of a `KeyStore`. */
  deviceKey: UserKey;
  /** Default: the platform's. */
  fetch?: Fetch;
  /** Where the tokens are kept; tabs with the same store share the session. */
  store?: CredentialStore;
  /** The tokens of an earlier session, where there is no `store`. */
  credentials?: Credentials;
  /**
   * Called with every new pair of tokens, to store them, and with undefined when the tokens are no longer
   * valid. Where it returns a promise, the next change waits for that.
   */
  onCredentials?: (credentials: Credentials | undefined) => unknown;
  /** How events are read; default: by `fetch`. React Native without Expo: `xhrEvents()`. */
  eventTransport?: EventTransport;
  /** Default: the platform's Web Locks, else locks of this page alone. */
  locks?: LockManager;
  /**
   * Makes the app's attestation, where its operator requires one at sign-up and enrollment. It is called once
   * for each such request. A web page has none.
   */
  attest?: Attest;
  /** This device's time in milliseconds since 1970; default: `Date.now`. */
  now?: () => number;
  /**
   * For the matching code; default: the platform's `crypto`. React Native, which has none: `getRandomBytes`
   * of `expo-crypto`.
   */
  randomBytes?: RandomBytes;
}

/**
 * One device's side of the API. It holds the session's tokens and refreshes an expired access token once, on
 * its own. Every method rejects with ProblemError when the server refuses, and with SessionEndedError when
 * the session is over: then its tokens are dropped. `RETRY_RULES` says which requests it repeats by itself.
 * @example
 * const client = new CountersignClient({ baseUrl, deviceKey, store: browserCredentials() });
 */
export class CountersignClient extends AccountOperations {
  /**
   * The server's time, where this device's clock is wrong.
   * @example const waitMs = client.clock.until(timeLock.availableAt);
   */
  readonly clock: ServerClock;
  /**
   * The locks that this client's tabs share.
   * @example await client.locks.request("my-work", {}, async () => {});
   */
  readonly locks: LockManager;
  readonly #transport: ApiTransport;
  readonly #session: ClientSession;
  readonly #attest: Attest | undefined;
  readonly #randomBytes: RandomBytes | undefined;

  constructor(options: ClientOptions) {
    const { baseUrl, deviceKey, eventTransport = defaultEvents(options.fetch), now = Date.now } = options;
    if (typeof deviceKey?.publicKey !== "string")
      throw new TypeError("deviceKey is no key: give the one that `await loadOrCreateKey(store)` returns");
    const fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
    const clock = new CorrectedClock(now);
    const locks = options.locks ?? platformLocks();
    const transport = new ApiTransport(baseUrl, fetch, clock, eventTransport);
    const session = new ClientSession({ transport, store: storeOf(options), clock, locks });
    super(deviceKey, session);
    this.#transport = transport;
    this.#session = session;
    this.clock = clock;
    this.locks = locks;
    this.#attest = options.attest;
    this.#randomBytes = options.randomBytes;
  }

  /**
   * The session's state, to show and to follow.
   * @example client.session.subscribe(() => console.log(client.session.state));
   */
  get session(): SessionView {
    return this.#session;
  }

  /**
   * The `nonce` to log in with: it binds the login to this device's key, so that a stolen ID token is useless
   * with another key.
   * @example const url = `${authorizeUrl}&nonce=${client.loginNonce}`;
   */
  get loginNonce(): string {
    return publicKeyFingerprint(this.deviceKey);
  }

  /**
   * Makes the code to show while a request of this device is pending: the person types it on the approving
   * device. Never send it anywhere. Each call makes another one, and all of them match.
   * @example
   * await client.requestTwoFactor({ login, chainName });
   * show(client.matchingCode());
   */
  matchingCode(): string {
    const { deviceKey } = this;
    return matchingCode({ accountKey: deviceKey, deviceKey }, this.#randomBytes);
  }

  /**
   * The session's tokens, if there is a session.
   * @example const { accessToken } = client.credentials!;
   */
  get credentials(): Credentials | undefined {
    return this.#session.credentials;
  }

  /**
   * Deploys an account with this device's key as its first user key and opens a session. With a session
   * already open, deploys the same account on a further chain.
   * @example const { account } = await client.signUp({ login, chainName, device: { name: "Ada's phone" } });
   */
  async signUp(options: SignUpOptions): Promise<SignedIn> {
    return this.#session.open(async () => {
      const attestation = await attestationOf(this.#attest, "sign-up", this.deviceKey, options);
      const send = (accessToken?: string) => signUp(this.#transport, this.deviceKey, options, attestation, accessToken);
      return this.#session.withAccess(send, { isSignIn: true }).catch((error: unknown) => {
        if (error instanceof SessionEndedError) return send();
        throw error;
      });
    });
  }

  /**
   * Requests a challenge for this device's key; for a passkey by `username`, the login's e-mail address, for
   * any passkey of the account.
   * @example const { challengeData, expiresAt } = await client.requestChallenge({ login, chainName });
   */
  requestChallenge(options: ChallengeOptions): Promise<Challenge> {
    return requestChallenge(this.#transport, this.deviceKey, options);
  }

  /**
   * Signs a challenge with this device's key and opens a session.
   * @example
   * const challenge = await client.requestChallenge({ login, chainName });
   * const { account } = await client.respondChallenge(challenge);
   */
  async respondChallenge({ challengeData }: Pick<Challenge, "challengeData">): Promise<SignedIn> {
    return this.#session.open(() => respondChallenge(this.#transport, this.deviceKey, challengeData));
  }

  /**
   * Requests a challenge and answers it.
   * @example const { account } = await client.signIn({ login, chainName });
   */
  async signIn(options: ChallengeOptions): Promise<SignedIn> {
    return this.respondChallenge(await this.requestChallenge(options));
  }

  /**
   * Requests the enrollment of this device: for a person who has an account and uses a device that is new to
   * it. Show `matchingCode` until another device has decided.
   * @example
   * const requested = await client.requestTwoFactor({ login, chainName, device: { name: "Ada's tablet" } });
   * show(client.matchingCode());
   * await client.waitForTwoFactor(requested);
   */
  async requestTwoFactor(options: RequestTwoFactorOptions): Promise<TwoFactorRequested> {
    const attestation = await attestationOf(this.#attest, "enrollment", this.deviceKey, options);
    return requestTwoFactor(this.#transport, this.deviceKey, options, attestation);
  }

  /**
   * Opens this new device's session, once; of a device that was on the account already, on another network,
   * never (TwoFactorAuthFinished). Rejects with TwoFactorAuthPending (409) until a device has
   * approved and the chain has sealed the transaction.
   * @example
   * const { twoFactorAuth, ephemeralAccessToken } = await client.requestTwoFactor({ login, chainName });
   * const { account } = await client.finishTwoFactor(twoFactorAuth.id, ephemeralAccessToken);
   */
  async finishTwoFactor(id: string, ephemeralAccessToken: string, signal?: AbortSignal): Promise<SignedIn> {
    return this.#session.open(() => finishTwoFactor(this.#transport, id, ephemeralAccessToken, signal));
  }

  /**
   * Finishes as soon as possible. Rejects when the request is rejected, expired or failed, and with the
   * signal's reason when it aborts. TwoFactorAuthFinished: the answer was lost on its way, or the device was
   * on the account already, on another network; the key is registered, and with `signIn` it signs in.
   * @example
   * const requested = await client.requestTwoFactor({ login, chainName });
   * const { account } = await client.waitForTwoFactor(requested, { signal, signIn: { login, chainName } });
   */
  async waitForTwoFactor(
    { twoFactorAuth: { id }, ephemeralAccessToken }: TwoFactorRequested,
    { signal, signIn }: { signal?: AbortSignal; signIn?: ChallengeOptions } = {},
  ): Promise<SignedIn> {
    try {
      return await waitForTwoFactor(() => this.finishTwoFactor(id, ephemeralAccessToken, signal), signal);
    } catch (error) {
      const isFinished = error instanceof ProblemError && error.error === "TwoFactorAuthFinished";
      if (!isFinished || signIn === undefined) throw error;
      return this.signIn(signIn);
    }
  }

  /**
   * Exchanges the refresh token for the next pair; calls at the same time share one exchange.
   * @example const { accessToken } = await client.refresh();
   */
  refresh(): Promise<Credentials> {
    return this.#session.refresh();
  }

  /**
   * Ends the session and forgets its tokens; a session that has already ended is no error.
   * @example await client.signOut();
   */
  signOut(): Promise<void> {
    return this.#session.signOut();
  }

  /**
   * Follows the account's events. Reconnects by itself and resumes after the last event; ends with the
   * signal, and throws ProblemError when the session is over. After a "stream.reset" events may be missing:
   * read all shown data again.
   * @example
   * for await (const event of client.events({ signal })) {
   *   if (event.type === "two-factor.requested") show("A device asks to be enrolled");
   * }
   */
  events(options: EventOptions = {}): AsyncGenerator<AccountEvent, void> {
    const open = (headers: Record<string, string>, signal: AbortSignal) =>
      this.#session.withAccess(
        (accessToken) => this.#transport.openEvents({ path: "/device/v1/events", accessToken, headers, signal }),
        { signal },
      );
    return this.#session.noteEvents(followEvents(open, options), options.signal);
  }
}
