import { abortReason } from "@countersign/flow";
import type { CorrectedClock } from "./clock.ts";
import type { CredentialStore } from "./credential-store.ts";
import type { AccountEvent } from "./events.ts";
import type { ApiRequest, ApiTransport } from "./http.ts";
import type { LockManager } from "./locks.ts";
import { ProblemError, SessionEndedError } from "./problem-error.ts";
import { callListener } from "./report-error.ts";
import type { Credentials } from "./resources.ts";
import { nextState, type SessionState, type SessionStep, type SessionView } from "./session-state.ts";
import { sleep } from "./sleep.ts";
import { StoredPair } from "./stored-pair.ts";
import { claimsOf } from "./token-claims.ts";

/** The parts of its client that a session needs. */
export interface SessionOptions {
  transport: ApiTransport;
  store: CredentialStore;
  clock: CorrectedClock;
  locks: LockManager;
}

/** How a request is sent. `isSignIn`: the work of `open` sends it. */
interface AccessOptions {
  isSignIn?: boolean;
  signal?: AbortSignal | undefined;
}

/** Longer than a sign-in's requests; a person may leave its dialog open for ever. */
const SIGN_IN_WAIT_MS = 60_000;

const accountOf = (pair: Credentials | undefined): string | undefined => pair && claimsOf(pair.accessToken).sub;

/** Returns the tokens of an answer. Errors: ProblemError where it has none, and is none of the service. */
function tokensOf({ credentials }: { credentials?: Partial<Credentials> }): Credentials {
  if (!credentials?.accessToken || !credentials.refreshToken) throw new ProblemError(200, {}, null);
  return credentials as Credentials;
}

const FROZEN: ReadonlySet<string> = new Set(["AccountFrozen", "AccountUnderReview"]);

/**
 * The tokens of a session: kept, sent along, and exchanged for the next pair when the access token has
 * expired. Tokens of a session that the server calls ended are dropped; no other failure drops them.
 */
export class ClientSession implements SessionView {
  readonly ready: Promise<void>;
  readonly #options: SessionOptions;
  readonly #pair: StoredPair;
  readonly #listeners = new Set<() => void>();
  #credentials: Credentials | undefined;
  #state: SessionState = "signed-out";
  #accountId: string | undefined;
  readonly #signIns = new Set<Promise<unknown>>();
  #loading: Promise<void> | undefined;
  #refreshing: { of: Credentials | undefined; next: Promise<Credentials> } | undefined;
  /** How the last session ended, for the calls that were still under way with its tokens. */
  #ended: SessionEndedError | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
    const { store } = options;
    this.#pair = new StoredPair(store, () => this.#credentials);
    const loaded = store.load();
    if (loaded !== undefined && "then" in loaded) {
      // Tokens of a sign-in that was faster are newer.
      const take = (stored: Credentials | undefined) => {
        if (!this.#credentials) this.#adopt(stored);
      };
      this.#loading = loaded.then(take).finally(() => {
        this.#loading = undefined;
      });
      this.#loading.catch(() => undefined);
    } else this.#adopt(loaded);
    this.ready = this.#loading ?? Promise.resolve();
    store.subscribe?.(() => void this.#reload().catch(() => undefined));
  }

  get credentials(): Credentials | undefined {
    return this.#credentials;
  }

  get state(): SessionState {
    return this.#state;
  }

  get accountId(): string | undefined {
    return this.#accountId;
  }

  get endedBy(): SessionEndedError | undefined {
    return this.#state === "ended" ? this.#ended : undefined;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  #move(step: SessionStep): void {
    const next = nextState(this.#state, step);
    const accountId = accountOf(this.#credentials);
    if (next === this.#state && accountId === this.#accountId) return;
    this.#state = next;
    this.#accountId = accountId;
    for (const listener of [...this.#listeners]) callListener(listener);
  }

  /** Takes the pair that the store has, or that another tab has put there. */
  #adopt(stored: Credentials | undefined): void {
    const had = this.#credentials;
    this.#credentials = stored;
    if (stored === undefined) this.#move("signed-out");
    else if (had === undefined || accountOf(had) !== accountOf(stored)) this.#move("opened");
  }

  async #reload(): Promise<void> {
    const stored = await this.#pair.load();
    if (stored?.refreshToken !== this.#credentials?.refreshToken) this.#adopt(stored);
  }

  /** Takes a new session's pair, or forgets the old one. */
  async keep(credentials: Credentials | undefined): Promise<void> {
    const before = this.#credentials;
    this.#credentials = credentials;
    this.#ended = undefined;
    this.#move(credentials ? "opened" : "signed-out");
    await this.#pair.save(credentials, before);
  }

  /** Does the work that opens a session, and keeps its tokens. */
  async open<Opened extends { credentials: Credentials }>(work: () => Promise<Opened>): Promise<Opened> {
    this.#move("sign-in");
    const opening = (async () => {
      const opened = await work();
      await this.keep(tokensOf(opened));
      return opened;
    })();
    this.#signIns.add(opening);
    try {
      return await opening;
    } catch (error) {
      if (this.#signIns.size === 1) this.#move("sign-in-failed");
      throw error;
    } finally {
      this.#signIns.delete(opening);
    }
  }

  /**
   * Waits for the sign-ins under way, for a minute at most and until the signal aborts: a sign-in ends the
   * device's session before, which others may learn before its answer arrives.
   */
  async #untilSignedIn(signal: AbortSignal | undefined): Promise<void> {
    const isOver = new AbortController();
    const stop = () => isOver.abort();
    if (signal?.aborted || this.#signIns.size === 0) return;
    signal?.addEventListener("abort", stop, { once: true });
    void Promise.allSettled([...this.#signIns]).then(stop);
    await sleep(SIGN_IN_WAIT_MS, isOver.signal);
    signal?.removeEventListener("abort", stop);
  }

  /** Passes events on and notes what they say of session and account; throws where the session ends. */
  async *noteEvents(
    events: AsyncIterable<AccountEvent>,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<AccountEvent, void> {
    for await (const event of events) {
      const change = event.type === "account.updated" ? event.data.change : undefined;
      if (change === "frozen" || change === "unfrozen") this.#move(change);
      // The access token may live for minutes: the stream is the first to know.
      const ended = event.type === "session.ended" ? await this.#end(event.data.sessionId, signal) : undefined;
      yield event;
      if (ended) throw ended;
    }
  }

  /** Ends the session where this is its id; undefined where the client has another one, or gets it now. */
  async #end(sessionId: string, signal: AbortSignal | undefined): Promise<SessionEndedError | undefined> {
    const isOwn = (credentials = this.#credentials): credentials is Credentials =>
      credentials !== undefined && claimsOf(credentials.accessToken).sid === sessionId;
    if (!isOwn()) return undefined;
    await this.#untilSignedIn(signal);
    const current = this.#credentials;
    if (!isOwn(current) || signal?.aborted) return undefined;
    const error = await this.#drop(current, new SessionEndedError(401, { error: "SessionEnded" }, null));
    return this.#credentials ? undefined : error;
  }

  /**
   * Sends a request with the access token; refreshes an expired one once. `shows`: what its success says of
   * the account. Errors: SessionEndedError.
   */
  async send<Answer>(request: ApiRequest, shows?: "frozen" | "unfrozen"): Promise<Answer> {
    let used: string | undefined;
    const send = (accessToken?: string) => {
      used = accessToken;
      return this.#options.transport.send<Answer>({ ...request, accessToken });
    };
    const answer = await this.withAccess(send, { signal: request.signal });
    if (shows) this.#note(shows, used);
    return answer;
  }

  /** Sends with the access token, see `send`, and at most once more with a newer one. */
  async withAccess<Answer>(
    send: (accessToken: string | undefined) => Promise<Answer>,
    options: AccessOptions = {},
  ): Promise<Answer> {
    if (this.#loading) await this.#loading;
    let used = this.#credentials;
    if (used !== undefined && this.#isExpired(used)) used = await this.refresh();
    let next: Credentials;
    try {
      return await send(used?.accessToken);
    } catch (error) {
      this.#noteFreeze(error, used);
      next = await this.#pairAfter(error, used, options);
    }
    try {
      return await send(next.accessToken);
    } catch (error) {
      this.#noteFreeze(error, next);
      if (error instanceof SessionEndedError) throw await this.#drop(next, error);
      throw error;
    }
  }

  /** Returns the pair with which a call is repeated after `error`; throws where it must not be. */
  async #pairAfter(
    error: unknown,
    used: Credentials | undefined,
    { isSignIn = false, signal }: AccessOptions,
  ): Promise<Credentials> {
    if (used === undefined) throw error;
    if (error instanceof SessionEndedError) {
      // A sign-in may have ended this session: one under way here, or another tab's.
      if (!isSignIn) await this.#untilSignedIn(signal);
      if (signal?.aborted) throw abortReason(signal);
      if (this.#credentials === used && !(await this.#hasNewer(used))) throw await this.#drop(used, error);
    } else if (!(error instanceof ProblemError) || error.error !== "AccessTokenExpired") throw error;
    // The session ended, or the person signed out, while this call was under way.
    if (!this.#credentials) throw this.#ended ?? error;
    // Somebody else has signed in: what one person asked for is never done in another's name.
    if (accountOf(this.#credentials) !== accountOf(used)) throw error;
    // Another call may have brought a new pair meanwhile.
    return this.#credentials === used ? this.refresh() : this.#credentials;
  }

  #noteFreeze(error: unknown, used: Credentials | undefined): void {
    if (error instanceof ProblemError && FROZEN.has(error.error)) this.#note("frozen", used?.accessToken);
  }

  /** Notes what an answer says of the account, unless another person has signed in since it was asked for. */
  #note(step: "frozen" | "unfrozen", accessToken: string | undefined): void {
    if (accessToken !== undefined && claimsOf(accessToken).sub === this.#accountId) this.#move(step);
  }

  /** Says whether the access token is over by the server's clock; false where that is not known. */
  #isExpired({ accessToken }: Credentials): boolean {
    const { clock } = this.#options;
    const { exp } = claimsOf(accessToken);
    return clock.isKnown && typeof exp === "number" && exp * 1_000 <= clock.now();
  }

  /** Returns whether the store has another pair than the one that was used, and takes it. */
  async #hasNewer(used: Credentials): Promise<boolean> {
    const stored = await this.#pair.load();
    if (stored === undefined || stored.refreshToken === used.refreshToken) return false;
    if (this.#credentials === used) this.#adopt(stored);
    return this.#credentials !== undefined && this.#credentials !== used;
  }

  /** Ends the session and forgets its tokens. Succeeds where there is none, or none any more. */
  async signOut(): Promise<void> {
    if (this.#loading) await this.#loading;
    if (this.#credentials === undefined) return this.#move("signed-out");
    const sessionId = claimsOf(this.#credentials.accessToken).sid;
    // Not a session that a sign-in has opened meanwhile.
    const isThisOne = () =>
      this.#credentials !== undefined && claimsOf(this.#credentials.accessToken).sid === sessionId;
    try {
      await this.withAccess(async (accessToken) => {
        const request = { operation: "signOut", method: "POST", path: "/auth/v1/signout", accessToken } as const;
        if (isThisOne()) await this.#options.transport.send(request);
      });
    } catch (error) {
      // No other session can be meant by a token that the server does not accept.
      if (!(error instanceof ProblemError) || error.status !== 401) throw error;
    }
    if (isThisOne()) await this.keep(undefined);
    if (this.#credentials === undefined) this.#move("signed-out");
  }

  /**
   * Exchanges the refresh token for the next pair; calls at the same time share one exchange, also those of
   * other tabs with the same store.
   */
  refresh(): Promise<Credentials> {
    if (this.#loading) return this.#loading.then(() => this.refresh());
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
    const { locks, store } = this.#options;
    const work = () => this.#exchangeLocked(used);
    // A store without a name is this client's alone.
    if (store.name === "") return work();
    return (await locks.request(`countersign-refresh/${store.name}`, {}, work)) as Credentials;
  }

  async #exchangeLocked(used: Credentials): Promise<Credentials> {
    const { transport } = this.#options;
    if (await this.#isReplaced(used)) return this.#replacementOf(used);
    let credentials: Credentials;
    try {
      const body = { refreshToken: used.refreshToken };
      const path = "/auth/v1/token/refresh";
      credentials = tokensOf(await transport.send({ operation: "refresh", method: "POST", path, body }));
    } catch (error) {
      if (error instanceof SessionEndedError) throw await this.#drop(used, error);
      throw error;
    }
    // The next pair must not be lost where the store cannot be read now, as that of a locked phone.
    if (await this.#isReplaced(used).catch(() => false)) return this.#replacementOf(used);
    // After a sign-out or a new sign-in meanwhile, the pair belongs to another session than this client's.
    if (this.#credentials !== used) return credentials;
    this.#credentials = credentials;
    await this.#pair.save(credentials, used);
    return credentials;
  }

  /** Returns whether another tab has refreshed, or signed out or in, and takes what it has stored. */
  async #isReplaced(used: Credentials): Promise<boolean> {
    if (this.#options.store.name === "") return false;
    const stored = await this.#pair.load();
    if (stored?.refreshToken === used.refreshToken) return false;
    if (this.#credentials === used) this.#adopt(stored);
    return true;
  }

  /** Returns the client's pair. Errors: SessionEndedError where there is none, or another person's. */
  #replacementOf(used: Credentials): Credentials {
    if (this.#credentials && accountOf(this.#credentials) === accountOf(used)) return this.#credentials;
    const detail = "another tab signed out or in";
    throw this.#ended ?? new SessionEndedError(401, { error: "SessionEnded", detail }, null);
  }

  /**
   * Drops an ended session's tokens, unless another session has replaced them. Returns the error to throw.
   */
  async #drop(used: Credentials, error: SessionEndedError): Promise<SessionEndedError> {
    if (this.#credentials === used && !(await this.#hasNewer(used)) && this.#credentials === used) {
      this.#credentials = undefined;
      this.#ended = error;
      this.#move("ended");
      await this.#pair.save(undefined, used);
    }
    return error;
  }
}
