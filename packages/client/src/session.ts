import type { ApiRequest, ApiTransport } from "./http.ts";
import { ProblemError, SessionEndedError } from "./problem-error.ts";
import type { Credentials } from "./resources.ts";

/**
 * The tokens of a session: kept, sent along, and exchanged for the next pair when the access token has
 * expired. Tokens of a session that the server calls ended are dropped; no other failure drops them.
 */
export class ClientSession {
  readonly #transport: ApiTransport;
  readonly #onCredentials: (credentials: Credentials | undefined) => void;
  #credentials: Credentials | undefined;
  #refreshing: { of: Credentials | undefined; next: Promise<Credentials> } | undefined;
  /** How the last session ended, for the calls that were still under way with its tokens. */
  #ended: SessionEndedError | undefined;

  constructor(
    transport: ApiTransport,
    credentials: Credentials | undefined,
    onCredentials: (credentials: Credentials | undefined) => void,
  ) {
    this.#transport = transport;
    this.#credentials = credentials;
    this.#onCredentials = onCredentials;
  }

  get credentials(): Credentials | undefined {
    return this.#credentials;
  }

  /** Takes a new pair, or forgets the old one. */
  keep(credentials: Credentials | undefined): void {
    this.#credentials = credentials;
    this.#ended = undefined;
    this.#onCredentials(credentials);
  }

  /** Sends a request with the access token; refreshes an expired one once. Errors: SessionEndedError. */
  send<Answer>(request: ApiRequest): Promise<Answer> {
    return this.withAccess((accessToken) => this.#transport.send<Answer>({ ...request, accessToken }));
  }

  async withAccess<Answer>(send: (accessToken: string | undefined) => Promise<Answer>): Promise<Answer> {
    const used = this.#credentials;
    try {
      return await send(used?.accessToken);
    } catch (error) {
      if (used === undefined) throw error;
      if (error instanceof SessionEndedError) throw this.#drop(used, error);
      if (!(error instanceof ProblemError) || error.error !== "AccessTokenExpired") throw error;
      // The session ended, or the person signed out, while this call was under way.
      if (!this.#credentials) throw this.#ended ?? error;
    }
    // Another call may have brought a new pair meanwhile.
    const current = this.#credentials === used ? await this.refresh() : this.#credentials;
    try {
      return await send(current.accessToken);
    } catch (error) {
      if (error instanceof SessionEndedError) throw this.#drop(current, error);
      throw error;
    }
  }

  /** Ends the session and forgets its tokens. Succeeds where there is none, or none any more. */
  async signOut(): Promise<void> {
    if (this.#credentials === undefined) return;
    try {
      await this.send({ method: "POST", path: "/auth/v1/signout" });
    } catch (error) {
      // No other session can be meant by a token that the server does not accept.
      if (!(error instanceof ProblemError) || error.status !== 401) throw error;
    }
    if (this.#credentials !== undefined) this.keep(undefined);
  }

  /** Exchanges the refresh token for the next pair; calls at the same time share one exchange. */
  refresh(): Promise<Credentials> {
    const used = this.#credentials;
    if (this.#refreshing && this.#refreshing.of === used) return this.#refreshing.next;
    const refreshing = { of: used, next: this.#exchange(used) };
    this.#refreshing = refreshing;
    const clear = () => {
      if (this.#refreshing === refreshing) this.#refreshing = undefined;
    };
    refreshing.next.then(clear, clear);
    return refreshing.next;
  }

  async #exchange(used: Credentials | undefined): Promise<Credentials> {
    if (used === undefined) throw this.#ended ?? new Error("there is no session to refresh");
    let credentials: Credentials;
    try {
      const body = { refreshToken: used.refreshToken };
      const path = "/auth/v1/token/refresh";
      ({ credentials } = await this.#transport.send<{ credentials: Credentials }>({ method: "POST", path, body }));
    } catch (error) {
      if (error instanceof SessionEndedError) throw this.#drop(used, error);
      throw error;
    }
    // After a sign-out or a new sign-in meanwhile, the pair belongs to another session than this client's.
    if (this.#credentials === used) this.keep(credentials);
    return credentials;
  }

  /**
   * Drops an ended session's tokens, unless another session has replaced them. Returns the error to throw.
   */
  #drop(used: Credentials, error: SessionEndedError): SessionEndedError {
    if (this.#credentials === used) {
      this.keep(undefined);
      this.#ended = error;
    }
    return error;
  }
}
