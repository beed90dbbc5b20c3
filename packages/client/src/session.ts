import type { ApiRequest, ApiTransport } from "./http.ts";
import { ProblemError } from "./problem-error.ts";
import type { Credentials } from "./resources.ts";

/** The tokens of a session: kept, sent along, and exchanged for the next pair when the access token has expired. */
export class ClientSession {
  readonly #transport: ApiTransport;
  readonly #onCredentials: (credentials: Credentials | undefined) => void;
  #credentials: Credentials | undefined;
  #refreshing: Promise<Credentials> | undefined;

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
    this.#onCredentials(credentials);
  }

  /** Sends a request with the access token; refreshes an expired one once. */
  send<Answer>(request: ApiRequest): Promise<Answer> {
    return this.withAccess((accessToken) => this.#transport.send<Answer>({ ...request, accessToken }));
  }

  async withAccess<Answer>(send: (accessToken: string | undefined) => Promise<Answer>): Promise<Answer> {
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

  /** Exchanges the refresh token for the next pair; calls at the same time share one exchange. */
  refresh(): Promise<Credentials> {
    this.#refreshing ??= this.#exchange().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #exchange(): Promise<Credentials> {
    const refreshToken = this.#credentials?.refreshToken;
    if (refreshToken === undefined) throw new Error("there is no session to refresh");
    const { credentials } = await this.#transport.send<{ credentials: Credentials }>({
      method: "POST",
      path: "/auth/v1/token/refresh",
      body: { refreshToken },
    });
    this.keep(credentials);
    return credentials;
  }
}
