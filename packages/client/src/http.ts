import { toProblemError } from "./problem-error.ts";

export type Fetch = typeof globalThis.fetch;

/** One request of the API. */
export interface ApiRequest {
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

/** Sends requests and reads answers. Rejects with ProblemError for every answer that is not a success. */
export class ApiTransport {
  readonly #baseUrl: string;
  readonly #fetch: Fetch;

  constructor(baseUrl: string, fetch: Fetch) {
    this.#baseUrl = baseUrl.replace(/\/+$/, "");
    this.#fetch = fetch;
  }

  async send<Answer>({ method, path, body, accessToken, headers = {}, signal }: ApiRequest): Promise<Answer> {
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    const response = await this.#fetch(this.#baseUrl + path, {
      method,
      headers: {
        accept: "application/json",
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(accessToken !== undefined && { authorization: `Bearer ${accessToken}` }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    if (!response.ok) throw await toProblemError(response);
    return (response.status === 204 ? undefined : await response.json()) as Answer;
  }

  /** Opens a stream of server-sent events; it lasts until it ends or the signal aborts. */
  async openEvents(request: Pick<ApiRequest, "path" | "accessToken" | "headers"> & { signal: AbortSignal }) {
    const { path, accessToken, headers = {}, signal } = request;
    const response = await this.#fetch(this.#baseUrl + path, {
      headers: {
        accept: "text/event-stream",
        ...(accessToken !== undefined && { authorization: `Bearer ${accessToken}` }),
        ...headers,
      },
      cache: "no-store",
      signal,
    });
    if (!response.ok) throw await toProblemError(response);
    return response;
  }
}
