import { abortReason, fetchText } from "@countersign/flow";
import type { CorrectedClock } from "./clock.ts";
import type { EventTransport, Fetch } from "./event-transport.ts";
import { ProblemError, toProblemError } from "./problem-error.ts";
import { type Operation, RETRY_RULES, type RetryRule, retryWaitMs } from "./retry.ts";
import { sleep } from "./sleep.ts";

/** One request of the API. */
export interface ApiRequest {
  /** Its row of the retry rules. */
  operation: Operation;
  method: "GET" | "POST" | "PUT" | "DELETE";
  path: string;
  body?: unknown;
  accessToken?: string | undefined;
  headers?: Record<string, string>;
  /** Aborts the request. */
  signal?: AbortSignal | undefined;
}

/** The longest wait for an answer, in milliseconds: a sign-up waits for the chain. */
const TIMEOUT_MS = 30_000;
/** Three of them fit in the time for which a refresh token may be repeated. */
const REFRESH_TIMEOUT_MS = 8_000;

/**
 * There was no connection to the service, or it broke: what became of the request is not known. A browser
 * does not say why. `cause` is the platform's error.
 * @example const isOffline = (error: unknown) => error instanceof ConnectionError;
 */
export class ConnectionError extends TypeError {
  override readonly name = "ConnectionError";

  constructor(baseUrl: string, given: TypeError) {
    const cause = given.cause instanceof Error ? given.cause : given;
    super(
      `no connection to ${baseUrl || "this page's server"} (${cause.message}): no network, no service at this ` +
        "baseUrl, or a page whose origin the service does not allow",
      { cause },
    );
  }
}

/** Sends requests and reads answers. Rejects with ProblemError for every answer that is not a success. */
export class ApiTransport {
  readonly #baseUrl: string;
  readonly #fetch: Fetch;
  readonly #events: EventTransport;
  readonly #clock: CorrectedClock;

  constructor(baseUrl: string, fetch: Fetch, clock: CorrectedClock, events: EventTransport) {
    // Often a variable of the environment, which may not be set.
    if (!/^(https?:\/\/.|\/|$)/i.test(`${baseUrl}`)) {
      const given = JSON.stringify(baseUrl);
      throw new TypeError(`baseUrl is ${given}: give the gateway's address, such as https://api.example.com`);
    }
    this.#baseUrl = baseUrl.replace(/\/+$/, "");
    this.#fetch = fetch;
    this.#events = events;
    this.#clock = clock;
  }

  /** Sends a request, and again by its retry rule where the answer was lost. */
  async send<Answer>(request: ApiRequest): Promise<Answer> {
    const named: RetryRule = RETRY_RULES[request.operation];
    const rule = named === "with-key" && request.headers?.["idempotency-key"] !== undefined ? "repeat" : named;
    const started = Date.now();
    for (let count = 1; ; count++) {
      let waitMs: number | undefined;
      try {
        return await this.#sendOnce<Answer>(request, rule === "refresh" ? REFRESH_TIMEOUT_MS : TIMEOUT_MS);
      } catch (error) {
        const isGone = rule === "remove" && count > 1 && error instanceof ProblemError && error.status === 404;
        if (isGone) return undefined as Answer;
        waitMs = retryWaitMs(error, { rule, count, elapsedMs: Date.now() - started });
        if (waitMs === undefined || request.signal?.aborted) throw error;
      }
      await sleep(waitMs, request.signal);
      if (request.signal?.aborted) throw abortReason(request.signal);
    }
  }

  async #sendOnce<Answer>(request: ApiRequest, timeoutMs: number): Promise<Answer> {
    const { method, path, accessToken, headers = {} } = request;
    // Not in `send`: its TypeError, for a bigint, is the app's own.
    const body = JSON.stringify(request.body);
    const send = async (signal: AbortSignal) => {
      const response = await this.#fetch(this.#baseUrl + path, {
        method,
        headers: {
          accept: "application/json",
          ...(body !== undefined && { "content-type": "application/json" }),
          ...(accessToken !== undefined && { authorization: `Bearer ${accessToken}` }),
          ...headers,
        },
        ...(body !== undefined && { body }),
        redirect: "error",
        signal,
      });
      // Before the body, which may take long.
      this.#clock.note(response.headers.get("date"));
      return response;
    };
    const { response, text } = await fetchText(timeoutMs, request.signal, send).catch((error: unknown) => {
      throw error instanceof TypeError ? new ConnectionError(this.#baseUrl, error) : error;
    });
    const { status, ok, headers: answered } = response;
    if (status === 204) return undefined as Answer;
    const json = async () => JSON.parse(text);
    // A page of another server, such as a proxy's, is no answer of the service.
    const answer: Answer | null = ok ? await json().catch(() => null) : null;
    if (answer === null) throw await toProblemError({ status, headers: answered, json });
    return answer;
  }

  /** Opens a stream of server-sent events; its text lasts until it ends or the signal aborts. */
  async openEvents(
    request: Pick<ApiRequest, "path" | "accessToken" | "headers"> & { signal: AbortSignal },
  ): Promise<AsyncIterable<string>> {
    const { path, accessToken, headers = {}, signal } = request;
    const answer = await this.#events({
      url: this.#baseUrl + path,
      headers: {
        accept: "text/event-stream",
        ...(accessToken !== undefined && { authorization: `Bearer ${accessToken}` }),
        ...headers,
      },
      signal,
    });
    this.#clock.note(answer.header("date"));
    if (answer.status === 200) return answer.text;
    let document = "";
    for await (const piece of answer.text) document += piece;
    throw await toProblemError({
      status: answer.status,
      headers: { get: answer.header },
      json: async () => JSON.parse(document),
    });
  }
}
