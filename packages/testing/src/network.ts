import type { Fetch } from "@countersign/client";

/** Chooses the requests that something happens to; without members, every request. */
export interface RequestFilter {
  /** Such as "POST". */
  readonly method?: string;
  /** The whole path without its query, or an expression that finds a part of it. */
  readonly path?: string | RegExp;
  /** How many requests; default 1. `Number.POSITIVE_INFINITY` lasts until `heal`. */
  readonly times?: number;
}

/** A request that was sent through a `TestNetwork`. */
export interface SeenRequest {
  /** Such as "POST". */
  readonly method: string;
  /** Path with query. */
  readonly path: string;
  /** "sent" also for an answer that was lost. */
  readonly outcome: "sent" | "failed" | "answered here";
}

type Send = () => Promise<Response>;
/** Takes the place of one request; `send` sends it. */
type Fault = {
  readonly outcome: SeenRequest["outcome"];
  run(send: Send, signal: AbortSignal | null): Promise<Response>;
};
interface Planned {
  readonly filter: RequestFilter;
  left: number;
  readonly fault: Fault;
}

/** A broken connection, as `fetch` reports it in every browser and in Node. */
const broken = () => new TypeError("fetch failed");

/** Waits for a promise, but no longer than the request lives. */
function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | null): Promise<T> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const aborted = () => reject(signal.reason);
    if (signal.aborted) return aborted();
    signal.addEventListener("abort", aborted, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", aborted));
  });
}

/**
 * A network that fails as a test asks. Its `fetch` is a client's option of that name. Each failure happens to
 * the next request that fits, and once, unless `times` says more; all other requests pass.
 * @example
 * const connection = new TestNetwork();
 * const client = new CountersignClient({ baseUrl, deviceKey, fetch: connection.fetch });
 * connection.loseAnswer({ path: "/auth/v1/token/refresh" });
 */
export class TestNetwork {
  readonly #fetch: Fetch;
  readonly #seen: SeenRequest[] = [];
  #planned: Planned[] = [];

  /** Creates a network over `fetch`, by default the platform's. */
  constructor(fetch: Fetch = globalThis.fetch.bind(globalThis)) {
    this.#fetch = fetch;
  }

  /**
   * Every request so far, in the order in which they were made.
   * @example
   * const connection = new TestNetwork();
   * const paths = connection.requests.map(({ path }) => path);
   */
  get requests(): readonly SeenRequest[] {
    return [...this.#seen];
  }

  /**
   * Sends a request, unless something was planned for it.
   * @example
   * const connection = new TestNetwork();
   * const client = new CountersignClient({ baseUrl, deviceKey, fetch: connection.fetch });
   */
  readonly fetch: Fetch = (input, init) => {
    const request = input instanceof Request ? input : undefined;
    const url = new URL(request?.url ?? String(input));
    const method = (init?.method ?? request?.method ?? "GET").toUpperCase();
    const planned = this.#planned.find(({ filter }) => fits(filter, method, url.pathname));
    if (planned) planned.left -= 1;
    this.#planned = this.#planned.filter(({ left }) => left > 0);
    this.#seen.push({ method, path: url.pathname + url.search, outcome: planned?.fault.outcome ?? "sent" });
    const send = () => this.#fetch(input, init);
    return planned ? planned.fault.run(send, init?.signal ?? request?.signal ?? null) : send();
  };

  /**
   * The request does not reach the server.
   * @example
   * const connection = new TestNetwork();
   * connection.failRequest({ times: 3 });
   */
  failRequest(filter: RequestFilter = {}): void {
    this.#plan(filter, { outcome: "failed", run: () => Promise.reject(broken()) });
  }

  /**
   * The server handles the request and the answer is lost: the client cannot know whether it was handled.
   * @example
   * const connection = new TestNetwork();
   * connection.loseAnswer({ method: "POST", path: "/auth/v1/signup" });
   */
  loseAnswer(filter: RequestFilter = {}): void {
    const run = async (send: Send) => {
      const response = await send();
      // Read to its end, so that the server is done with it.
      await response.arrayBuffer();
      throw broken();
    };
    this.#plan(filter, { outcome: "sent", run });
  }

  /**
   * The server handles the request at once; the answer arrives after `wait`: milliseconds, or a promise.
   * @example
   * const [connection, clock] = [new TestNetwork(), new TestClock()];
   * connection.delayAnswer(clock.sleep(2_000), { path: /transaction/ });
   */
  delayAnswer(wait: number | Promise<unknown>, filter: RequestFilter = {}): void {
    const waited = () => (typeof wait === "number" ? new Promise((resolve) => setTimeout(resolve, wait)) : wait);
    const run = async (send: Send, signal: AbortSignal | null) => {
      const response = await send();
      await untilAborted(waited(), signal);
      return response;
    };
    this.#plan(filter, { outcome: "sent", run });
  }

  /**
   * The request gets this answer, and the server never sees it. `error` is a reason such as "RateLimited".
   * @example
   * const connection = new TestNetwork();
   * connection.answer(503, { error: "ServiceUnavailable" }, { path: "/account/v1/me", times: 2 });
   */
  answer(status: number, problem: Readonly<Record<string, unknown>> = {}, filter: RequestFilter = {}): void {
    const body = JSON.stringify({ type: "about:blank", title: "Planned by a test", status, detail: "", ...problem });
    const headers = { "content-type": status < 400 ? "application/json" : "application/problem+json" };
    this.#plan(filter, { outcome: "answered here", run: async () => new Response(body, { status, headers }) });
  }

  /**
   * No request reaches the server until `heal`.
   * @example
   * const connection = new TestNetwork();
   * connection.goOffline();
   * await connection.fetch("http://localhost/").catch(({ message }) => message); // => "fetch failed"
   * connection.heal();
   */
  goOffline(): void {
    this.failRequest({ times: Number.POSITIVE_INFINITY });
  }

  /**
   * Forgets everything that was planned.
   * @example
   * const connection = new TestNetwork();
   * connection.goOffline();
   * connection.heal();
   */
  heal(): void {
    this.#planned = [];
  }

  #plan(filter: RequestFilter, fault: Fault): void {
    this.#planned.push({ filter, left: filter.times ?? 1, fault });
  }
}

function fits({ method, path }: RequestFilter, asked: string, pathname: string): boolean {
  if (method !== undefined && method.toUpperCase() !== asked) return false;
  if (path === undefined) return true;
  return typeof path === "string" ? path === pathname : path.test(pathname);
}
