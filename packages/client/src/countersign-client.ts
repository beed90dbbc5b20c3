import { bytesToHex, hexToBytes, publicKeyFingerprint } from "@countersign/keys";
import { type AccountEvent, type EventOptions, followEvents } from "./events.ts";
import { type ApiRequest, ApiTransport, type Fetch } from "./http.ts";
import { ProblemError } from "./problem-error.ts";
import type {
  Account,
  Challenge,
  CompositeSignature,
  Credentials,
  Device,
  DeviceAttributes,
  DeviceChange,
  DeviceKey,
  Key,
  Login,
  Session,
  SignedIn,
} from "./resources.ts";

export interface ClientOptions {
  /** The gateway, such as `http://localhost:8080`. */
  baseUrl: string;
  deviceKey: DeviceKey;
  fetch?: Fetch;
  /** Of an earlier session. */
  credentials?: Credentials;
  /** Is told every new pair of tokens, to keep them safe. */
  onCredentials?: (credentials: Credentials | undefined) => void;
}

/**
 * One device's side of the API. It holds the session's tokens and refreshes an expired access token once, on its own.
 * Every method rejects with ProblemError when the server refuses.
 */
export class CountersignClient {
  readonly deviceKey: DeviceKey;
  readonly #transport: ApiTransport;
  readonly #onCredentials: (credentials: Credentials | undefined) => void;
  #credentials: Credentials | undefined;
  #refreshing: Promise<Credentials> | undefined;

  constructor({ baseUrl, deviceKey, fetch, credentials, onCredentials }: ClientOptions) {
    this.deviceKey = deviceKey;
    this.#transport = new ApiTransport(baseUrl, fetch ?? globalThis.fetch.bind(globalThis));
    this.#credentials = credentials;
    this.#onCredentials = onCredentials ?? (() => {});
  }

  /** The `nonce` to log in with: it binds the login to this device's key, so that a stolen ID token is of no use with another one. */
  get loginNonce(): string {
    return publicKeyFingerprint(this.deviceKey);
  }

  /** The session's tokens, if there is a session. */
  get credentials(): Credentials | undefined {
    return this.#credentials;
  }

  /**
   * Deploys an account with this device's key as its first user key and opens a session. With a session already open, deploys the
   * same account on a further chain.
   */
  async signUp(options: {
    login: Login;
    chainName: string;
    device?: DeviceAttributes;
    idempotencyKey?: string;
  }): Promise<SignedIn> {
    const { publicKey, algorithm } = this.deviceKey;
    const signedIn = await this.#transport.send<SignedIn>({
      method: "POST",
      path: "/auth/v1/signup",
      body: {
        ...options.login,
        chainName: options.chainName,
        userKey: { type: "device", publicKey, algorithm, device: { publicKey, algorithm, ...options.device } },
      },
      accessToken: this.#credentials?.accessToken,
      headers: options.idempotencyKey === undefined ? {} : { "idempotency-key": options.idempotencyKey },
    });
    this.#keep(signedIn.credentials);
    return signedIn;
  }

  /** Asks for a challenge for this device's key. */
  requestChallenge(options: { login?: Login; chainName: string }): Promise<Challenge> {
    const { publicKey, algorithm } = this.deviceKey;
    return this.#transport.send({
      method: "POST",
      path: "/auth/v1/signin/challenge",
      body: {
        challengeType: "deviceKey",
        request: { ...options.login, chainName: options.chainName },
        publicKey,
        algorithm,
      },
    });
  }

  /** Signs a challenge with this device's key and opens a session. */
  async respondChallenge({ challengeData }: Pick<Challenge, "challengeData">): Promise<SignedIn> {
    const signature = await this.deviceKey.sign(hexToBytes(challengeData));
    const signedIn = await this.#transport.send<SignedIn>({
      method: "POST",
      path: "/auth/v1/signin/challenge/respond",
      body: { challengeType: "deviceKey", challengeData, deviceKey: { signature: bytesToHex(signature) } },
    });
    this.#keep(signedIn.credentials);
    return signedIn;
  }

  /** Asks for a challenge and answers it. */
  async signIn(options: { login?: Login; chainName: string }): Promise<SignedIn> {
    return this.respondChallenge(await this.requestChallenge(options));
  }

  /** Exchanges the refresh token for the next pair; calls at the same time share one exchange. */
  refresh(): Promise<Credentials> {
    this.#refreshing ??= this.#exchange().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  /** Ends the session. */
  async signOut(): Promise<void> {
    await this.#authorized({ method: "POST", path: "/auth/v1/signout" });
    this.#keep(undefined);
  }

  async sessions(): Promise<Session[]> {
    return (await this.#authorized<{ sessions: Session[] }>({ method: "GET", path: "/auth/v1/sessions" })).sessions;
  }

  endSession(id: string): Promise<void> {
    return this.#authorized({ method: "DELETE", path: `/auth/v1/sessions/${encodeURIComponent(id)}` });
  }

  /** Ends every session of the account but this one. */
  endOtherSessions(): Promise<void> {
    return this.#authorized({ method: "DELETE", path: "/auth/v1/sessions" });
  }

  async me(): Promise<Account> {
    return (await this.#authorized<{ account: Account }>({ method: "GET", path: "/account/v1/me" })).account;
  }

  async devices(): Promise<Device[]> {
    return (await this.#authorized<{ devices: Device[] }>({ method: "GET", path: "/device/v1/devices" })).devices;
  }

  /** Changes a device, by default this one. */
  async updateDevice(change: DeviceChange, publicKey = this.deviceKey.publicKey): Promise<Device> {
    const path = `/device/v1/devices/${encodeURIComponent(publicKey)}`;
    return (await this.#authorized<{ device: Device }>({ method: "PUT", path, body: change })).device;
  }

  removeDevice(publicKey: string): Promise<void> {
    return this.#authorized({ method: "DELETE", path: `/device/v1/devices/${encodeURIComponent(publicKey)}` });
  }

  async keys({ includeRevoked = false } = {}): Promise<Key[]> {
    const path = `/key/v1/keys?include_revoked=${includeRevoked}`;
    return (await this.#authorized<{ keys: Key[] }>({ method: "GET", path })).keys;
  }

  /**
   * What happens to the account, as it happens. Connects again by itself, from the last event on; ends with the signal, and throws
   * ProblemError when the session is over. A "stream.reset" says that events may be missing: read what is shown again.
   */
  events(options: EventOptions = {}): AsyncGenerator<AccountEvent, void> {
    const open = (headers: Record<string, string>, signal: AbortSignal) =>
      this.#withAccess((accessToken) =>
        this.#transport.openEvents({ path: "/device/v1/events", accessToken, headers, signal }),
      );
    return followEvents(open, options);
  }

  /** The server key's signature over a transaction's payload; `message` is hex of domain tag and RLP. */
  signTransaction(message: string, chainName?: string): Promise<CompositeSignature> {
    return this.#sign("/sign/v1/cadence/transaction", message, chainName);
  }

  /** The paymaster's signature over a transaction's envelope; `message` is hex of domain tag and RLP. */
  signPaymaster(message: string, chainName?: string): Promise<CompositeSignature> {
    return this.#sign("/sign/v1/cadence/paymaster", message, chainName);
  }

  async #sign(path: string, message: string, chainName: string | undefined): Promise<CompositeSignature> {
    const body = { message, ...(chainName !== undefined && { chainName }) };
    return (await this.#authorized<{ signature: CompositeSignature }>({ method: "POST", path, body })).signature;
  }

  #authorized<Answer>(request: ApiRequest): Promise<Answer> {
    return this.#withAccess((accessToken) => this.#transport.send<Answer>({ ...request, accessToken }));
  }

  async #withAccess<Answer>(send: (accessToken: string | undefined) => Promise<Answer>): Promise<Answer> {
    const accessToken = this.#credentials?.accessToken;
    try {
      return await send(accessToken);
    } catch (error) {
      const expired = error instanceof ProblemError && error.error === "AccessTokenExpired";
      if (!expired || !this.#credentials) throw error;
    }
    // Another call may have brought a new pair meanwhile.
    const current = this.#credentials.accessToken === accessToken ? await this.refresh() : this.#credentials;
    return send(current.accessToken);
  }

  async #exchange(): Promise<Credentials> {
    const refreshToken = this.#credentials?.refreshToken;
    if (refreshToken === undefined) throw new Error("there is no session to refresh");
    const { credentials } = await this.#transport.send<{ credentials: Credentials }>({
      method: "POST",
      path: "/auth/v1/token/refresh",
      body: { refreshToken },
    });
    this.#keep(credentials);
    return credentials;
  }

  #keep(credentials: Credentials | undefined): void {
    this.#credentials = credentials;
    this.#onCredentials(credentials);
  }
}
