import { type PublicKey, publicKeyFingerprint } from "@countersign/keys";
import { approveTwoFactor, getTwoFactor, type TwoFactorApproval } from "./approve-two-factor.ts";
import { CorrectedClock, type ServerClock } from "./clock.ts";
import type { CredentialStore } from "./credential-store.ts";
import type { EventTransport, Fetch } from "./event-transport.ts";
import { type AccountEvent, type EventOptions, followEvents } from "./events.ts";
import { ApiTransport } from "./http.ts";
import { type LockManager, platformLocks } from "./locks.ts";
import { matchingCode } from "./matching-code.ts";
import { finishTwoFactor, type RequestTwoFactorOptions, requestTwoFactor, waitForTwoFactor } from "./new-device.ts";
import { SessionEndedError } from "./problem-error.ts";
import type {
  Account,
  Challenge,
  CompositeSignature,
  Credentials,
  Device,
  DeviceChange,
  Key,
  ServerKeyRotation,
  Session,
  SignedIn,
  TimeLock,
  TransactionReference,
  TwoFactorAuth,
  TwoFactorRequested,
  UserKey,
} from "./resources.ts";
import { ClientSession } from "./session.ts";
import type { SessionView } from "./session-state.ts";
import { type ChallengeOptions, requestChallenge, type SignUpOptions, signUp } from "./sign-in.ts";
import { claimsOf } from "./token-claims.ts";
import { answerChallenge } from "./user-key.ts";

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
   * valid.
   */
  onCredentials?: (credentials: Credentials | undefined) => void;
  /** How events are read; default: by `fetch`. React Native: `xhrEvents` or `fetchEvents` of `expo/fetch`. */
  eventTransport?: EventTransport;
  /** Default: the platform's Web Locks, else locks of this page alone. */
  locks?: LockManager;
  /** This device's time in milliseconds since 1970; default: `Date.now`. */
  now?: () => number;
}

/**
 * One device's side of the API. It holds the session's tokens and refreshes an expired access token once, on
 * its own. Every method rejects with ProblemError when the server refuses, and with SessionEndedError when
 * the session is over: then its tokens are dropped. `RETRY_RULES` says which requests it repeats by itself.
 * @example
 * const client = new CountersignClient({ baseUrl, deviceKey, store: browserCredentials() });
 */
export class CountersignClient {
  /**
   * This device's key.
   * @example console.log(client.deviceKey.publicKey);
   */
  readonly deviceKey: UserKey;
  readonly #transport: ApiTransport;
  readonly #session: ClientSession;
  readonly #clock: CorrectedClock;
  readonly #locks: LockManager;

  constructor(options: ClientOptions) {
    const { baseUrl, deviceKey, fetch = globalThis.fetch.bind(globalThis), now = Date.now } = options;
    this.deviceKey = deviceKey;
    this.#clock = new CorrectedClock(now);
    this.#locks = options.locks ?? platformLocks();
    this.#transport = new ApiTransport(baseUrl, fetch, this.#clock, options.eventTransport);
    const store = storeOf(options);
    this.#session = new ClientSession({
      transport: this.#transport,
      store,
      clock: this.#clock,
      locks: this.#locks,
    });
  }

  /**
   * The session's state, to show and to follow.
   * @example client.session.subscribe(() => console.log(client.session.state));
   */
  get session(): SessionView {
    return this.#session;
  }

  /**
   * The server's time, where this device's clock is wrong.
   * @example const waitMs = client.clock.until(error.availableAt);
   */
  get clock(): ServerClock {
    return this.#clock;
  }

  /**
   * The locks that this client's tabs share.
   * @example await client.locks.request("my-work", {}, async () => {});
   */
  get locks(): LockManager {
    return this.#locks;
  }

  /**
   * The `nonce` to log in with: it binds the login to this device's key, so that a stolen ID token is useless
   * with another key.
   */
  get loginNonce(): string {
    return publicKeyFingerprint(this.deviceKey);
  }

  /**
   * Derives the code to show while a request of this device is pending: the person types or compares it on
   * the approving device. Takes about a tenth of a second, on purpose.
   */
  matchingCode({ twoFactorAuth: { id, accountId } }: Pick<TwoFactorRequested, "twoFactorAuth">): Promise<string> {
    const { deviceKey } = this;
    return matchingCode({ accountId, twoFactorId: id, accountKey: deviceKey, deviceKey });
  }

  /** The session's tokens, if there is a session. */
  get credentials(): Credentials | undefined {
    return this.#session.credentials;
  }

  /**
   * Deploys an account with this device's key as its first user key and opens a session. With a session
   * already open, deploys the same account on a further chain.
   */
  async signUp(options: SignUpOptions): Promise<SignedIn> {
    const send = (accessToken?: string) => signUp(this.#transport, this.deviceKey, options, accessToken);
    return this.#session.open(() =>
      this.#session.withAccess(send).catch((error: unknown) => {
        if (error instanceof SessionEndedError) return send();
        throw error;
      }),
    );
  }

  /**
   * Requests a challenge for this device's key; for a passkey by `username`, the login's e-mail address, for
   * any passkey of the account.
   */
  requestChallenge(options: ChallengeOptions): Promise<Challenge> {
    return requestChallenge(this.#transport, this.deviceKey, options);
  }

  /** Signs a challenge with this device's key and opens a session. */
  async respondChallenge({ challengeData }: Pick<Challenge, "challengeData">): Promise<SignedIn> {
    return this.#session.open(async () =>
      this.#transport.send<SignedIn>({
        operation: "respondChallenge",
        method: "POST",
        path: "/auth/v1/signin/challenge/respond",
        body: await answerChallenge(this.deviceKey, challengeData),
      }),
    );
  }

  /** Requests a challenge and answers it. */
  async signIn(options: ChallengeOptions): Promise<SignedIn> {
    return this.respondChallenge(await this.requestChallenge(options));
  }

  /**
   * Requests the enrollment of this device: for a person who has an account and uses a device that is new to
   * it. Show `matchingCode` until another device has decided.
   */
  requestTwoFactor(options: RequestTwoFactorOptions): Promise<TwoFactorRequested> {
    return requestTwoFactor(this.#transport, this.deviceKey, options);
  }

  /**
   * Opens this new device's session, once. Rejects with TwoFactorAuthPending (409) until a device has
   * approved and the chain has sealed the transaction.
   */
  async finishTwoFactor(id: string, ephemeralAccessToken: string, signal?: AbortSignal): Promise<SignedIn> {
    return this.#session.open(() => finishTwoFactor(this.#transport, id, ephemeralAccessToken, signal));
  }

  /**
   * Finishes as soon as possible. Rejects when the request is rejected, expired or failed, and with the
   * signal's reason when it aborts. TwoFactorAuthFinished: the answer was lost on its way; the key is
   * registered, so sign in by challenge.
   */
  waitForTwoFactor(
    { twoFactorAuth: { id }, ephemeralAccessToken }: TwoFactorRequested,
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<SignedIn> {
    return waitForTwoFactor(() => this.finishTwoFactor(id, ephemeralAccessToken, signal), signal);
  }

  /** Returns a 2FA request of the account, by its id or any id that it had with a message. */
  twoFactor(id: string): Promise<TwoFactorAuth> {
    return getTwoFactor(this.#session, id);
  }

  /**
   * Returns the pending 2FA requests of the account, newest first. A push or an event is only a hint to look
   * here.
   */
  async pendingTwoFactor(): Promise<TwoFactorAuth[]> {
    const path = "/device/v1/2fa?status=pending";
    return (
      await this.#session.send<{ twoFactorAuths: TwoFactorAuth[] }>({
        operation: "pendingTwoFactor",
        method: "GET",
        path,
      })
    ).twoFactorAuths;
  }

  /** Sends the request to another device of the account; returns it with its new request id. */
  async redirectTwoFactor(id: string, destDeviceId: string): Promise<TwoFactorAuth> {
    const path = `/device/v1/2fa/${encodeURIComponent(id)}`;
    const body = { destDeviceId };
    return (
      await this.#session.send<{ twoFactorAuth: TwoFactorAuth }>({
        operation: "redirectTwoFactor",
        method: "PUT",
        path,
        body,
      })
    ).twoFactorAuth;
  }

  rejectTwoFactor(id: string): Promise<void> {
    return this.#session.send({
      operation: "rejectTwoFactor",
      method: "DELETE",
      path: `/device/v1/2fa/${encodeURIComponent(id)}`,
    });
  }

  /**
   * Approves the enrollment of a new device. With a matching code, the request is read again. It is signed
   * only if its message adds one key to this account, and that key and the new device's identity key give the
   * same code; otherwise KeyAdditionError or MatchingCodeError.
   */
  approveTwoFactor(id: string, approval: TwoFactorApproval): Promise<void> {
    return approveTwoFactor(this.#session, this.deviceKey, id, approval);
  }

  /** Allows new requests again after several rejections. */
  reopenTwoFactor(): Promise<void> {
    return this.#session.send({ operation: "reopenTwoFactor", method: "POST", path: "/device/v1/2fa/reopen" });
  }

  /**
   * Stops all signing for the account. Where it is frozen, joins the freeze and cancels what others asked for
   * to lift it.
   */
  async freeze(): Promise<void> {
    await this.#session.send({ operation: "freeze", method: "POST", path: "/account/v1/freeze" });
    this.#session.note("frozen");
  }

  /**
   * Lets the account sign again: at once if the device that froze it has asked too, or the recovery key has;
   * otherwise TimeLockRequired, and the same device lifts the freeze by asking again from `availableAt` on.
   */
  async unfreeze(): Promise<void> {
    await this.#session.send({ operation: "unfreeze", method: "POST", path: "/account/v1/unfreeze" });
    this.#session.note("unfrozen");
  }

  /** Exchanges the refresh token for the next pair; calls at the same time share one exchange. */
  refresh(): Promise<Credentials> {
    return this.#session.refresh();
  }

  /** Ends the session and forgets its tokens; a session that has already ended is no error. */
  signOut(): Promise<void> {
    return this.#session.signOut();
  }

  async sessions(): Promise<Session[]> {
    return (
      await this.#session.send<{ sessions: Session[] }>({
        operation: "sessions",
        method: "GET",
        path: "/auth/v1/sessions",
      })
    ).sessions;
  }

  endSession(id: string): Promise<void> {
    return this.#session.send({
      operation: "endSession",
      method: "DELETE",
      path: `/auth/v1/sessions/${encodeURIComponent(id)}`,
    });
  }

  /** Ends every session of the account but this one. */
  endOtherSessions(): Promise<void> {
    return this.#session.send({ operation: "endOtherSessions", method: "DELETE", path: "/auth/v1/sessions" });
  }

  async me(): Promise<Account> {
    return (await this.#session.send<{ account: Account }>({ operation: "me", method: "GET", path: "/account/v1/me" }))
      .account;
  }

  /**
   * Makes the service read the account's parents from the chain. Errors: ParentNotLinked where there is none.
   */
  async linkParent(): Promise<Omit<Account, "updatedAt">> {
    const answer = await this.#session.send<{ account: Omit<Account, "updatedAt"> }>({
      operation: "linkParent",
      method: "POST",
      path: "/account/v1/parent",
    });
    return answer.account;
  }

  /**
   * Returns the rotations of the server key that wait for this device's signature; `rotateServerKeys` does
   * all of them.
   */
  async serverKeyRotations(): Promise<ServerKeyRotation[]> {
    const path = "/account/v1/server-key-rotation";
    return (
      await this.#session.send<{ rotations: ServerKeyRotation[] }>({
        operation: "serverKeyRotations",
        method: "GET",
        path,
      })
    ).rotations;
  }

  /**
   * Submits a rotation with this device's signature over its message. `done` is false until the chain has
   * sealed it.
   */
  submitServerKeyRotation(
    rotation: ServerKeyRotation & { signature: string; extensionData?: string },
  ): Promise<{ transaction: TransactionReference; done: boolean }> {
    return this.#session.send({
      operation: "submitServerKeyRotation",
      method: "POST",
      path: "/account/v1/server-key-rotation",
      body: rotation,
    });
  }

  async devices(): Promise<Device[]> {
    return (
      await this.#session.send<{ devices: Device[] }>({
        operation: "devices",
        method: "GET",
        path: "/device/v1/devices",
      })
    ).devices;
  }

  /** Changes a device, by default this one. */
  async updateDevice(change: DeviceChange, publicKey = this.deviceKey.publicKey): Promise<Device> {
    const path = `/device/v1/devices/${encodeURIComponent(publicKey)}`;
    return (
      await this.#session.send<{ device: Device }>({ operation: "updateDevice", method: "PUT", path, body: change })
    ).device;
  }

  removeDevice(publicKey: string): Promise<void> {
    return this.#session.send({
      operation: "removeDevice",
      method: "DELETE",
      path: `/device/v1/devices/${encodeURIComponent(publicKey)}`,
    });
  }

  async keys({ includeRevoked = false } = {}): Promise<Key[]> {
    const path = `/key/v1/keys?include_revoked=${includeRevoked}`;
    return (await this.#session.send<{ keys: Key[] }>({ operation: "keys", method: "GET", path })).keys;
  }

  /**
   * Reports the account's recovery key, before or after `sendKeyChange` puts it on chain. Its private key is
   * never sent: it belongs in the person's cloud, encrypted under a secret that neither phone nor cloud has.
   * `accountName`: the name of the cloud account, for the list.
   */
  async registerRecoveryKey(key: PublicKey, accountName: string, chainName?: string): Promise<Key[]> {
    const { publicKey, algorithm } = key;
    const body = {
      recoveryKey: { publicKey, algorithm, cloudKey: { accountName } },
      ...(chainName !== undefined && { chainName }),
    };
    return (
      await this.#session.send<{ keys: Key[] }>({
        operation: "registerRecoveryKey",
        method: "POST",
        path: "/key/v1/recovery",
        body,
      })
    ).keys;
  }

  /** Returns the time locks of key changes, newest first. */
  async timeLocks(): Promise<TimeLock[]> {
    return (
      await this.#session.send<{ timeLocks: TimeLock[] }>({
        operation: "timeLocks",
        method: "GET",
        path: "/account/v1/time-locks",
      })
    ).timeLocks;
  }

  /** Cancels a time lock; only for a device that was on the account before it started. */
  cancelTimeLock(id: string): Promise<void> {
    return this.#session.send({
      operation: "cancelTimeLock",
      method: "DELETE",
      path: `/account/v1/time-locks/${encodeURIComponent(id)}`,
    });
  }

  /**
   * Reports that a transaction has revoked a key, so that the list shows it at once; without the report it
   * takes some seconds.
   */
  reportRevocation(publicKey: string, txId: string): Promise<void> {
    const path = `/key/v1/keys/${encodeURIComponent(publicKey)}?txId=${encodeURIComponent(txId)}`;
    return this.#session.send({ operation: "reportRevocation", method: "DELETE", path });
  }

  /**
   * Follows the account's events. Reconnects by itself and resumes after the last event; ends with the
   * signal, and throws ProblemError when the session is over. After a "stream.reset" events may be missing:
   * read all shown data again.
   */
  events(options: EventOptions = {}): AsyncGenerator<AccountEvent, void> {
    const open = (headers: Record<string, string>, signal: AbortSignal) =>
      this.#session.withAccess((accessToken) =>
        this.#transport.openEvents({ path: "/device/v1/events", accessToken, headers, signal }),
      );
    return this.#noted(followEvents(open, options));
  }

  async *#noted(events: AsyncGenerator<AccountEvent, void>): AsyncGenerator<AccountEvent, void> {
    for await (const event of events) {
      this.#session.noteEvent(event);
      const isOwn = event.type === "session.ended" && event.data.sessionId === this.#sessionId();
      const ended = isOwn ? new SessionEndedError(401, { error: "SessionEnded" }, null) : undefined;
      // The access token may live for minutes: the stream is the first to know.
      if (ended) await this.#session.end(ended);
      yield event;
      if (ended) throw ended;
    }
  }

  #sessionId(): string | undefined {
    return claimsOf(this.#session.credentials?.accessToken ?? "").sid;
  }

  /**
   * Returns the server key's signature over a transaction's payload; `message` is hex of domain tag and RLP.
   */
  signTransaction(message: string, chainName?: string): Promise<CompositeSignature> {
    return this.#sign("signTransaction", "/sign/v1/cadence/transaction", message, chainName);
  }

  /**
   * Returns the paymaster's signature over a transaction's envelope; `message` is hex of domain tag and RLP.
   */
  signPaymaster(message: string, chainName?: string): Promise<CompositeSignature> {
    return this.#sign("signPaymaster", "/sign/v1/cadence/paymaster", message, chainName);
  }

  async #sign(
    operation: "signTransaction" | "signPaymaster",
    path: string,
    message: string,
    chainName: string | undefined,
  ): Promise<CompositeSignature> {
    const body = { message, ...(chainName !== undefined && { chainName }) };
    const request = { operation, method: "POST", path, body } as const;
    const { signature } = await this.#session.send<{ signature: CompositeSignature }>(request);
    this.#session.note("unfrozen");
    return signature;
  }
}

/** Returns the client's store: the given one, or the options' tokens in memory. */
function storeOf({ store, credentials, onCredentials }: ClientOptions): CredentialStore {
  if (store !== undefined && onCredentials === undefined) return store;
  let kept = credentials;
  const memory: CredentialStore = {
    name: "",
    load: () => kept,
    save(next) {
      kept = next;
    },
  };
  const used = store ?? memory;
  return {
    name: used.name,
    load: () => used.load(),
    async save(next) {
      await used.save(next);
      onCredentials?.(next);
    },
    subscribe: (listener) => used.subscribe?.(listener) ?? (() => {}),
  };
}
