import type { Logger, VerifiedToken } from "@countersign/core";
import type { CallContext, TraceParent } from "@countersign/rpc";
import type { Request, Response } from "express";
import type { RequestIdentity } from "./request-id.ts";
import type { Session } from "./session.ts";

/**
 * What a handler knows of the HTTP request besides its validated input, in the form in which it is passed on to the services. Token and
 * raw token are absent where the route needs none and none was sent; the signal aborts when the client goes away.
 */
export interface HttpCall extends CallContext {
  /** From the Idempotency-Key header; "" without one. */
  idempotencyKey: string;
  /** From the Last-Event-ID header of a stream of events; "" without one. */
  lastEventId: string;
}

export interface RequestParts extends Pick<HttpCall, "idempotencyKey" | "lastEventId" | "logger"> {
  session: Session | undefined;
  /** Ends the call too. */
  stopping?: AbortSignal | undefined;
}

/** The call of a request. What most handlers do not ask for, and costs as much as theirs, is made when somebody asks. */
export class RequestCall implements HttpCall {
  readonly caller = "http";
  readonly requestId: string;
  readonly trace: TraceParent;
  readonly idempotencyKey: string;
  readonly lastEventId: string;
  readonly token?: VerifiedToken;
  readonly rawToken?: string;
  readonly #request: Request;
  readonly #response: Response;
  readonly #parts: RequestParts;
  #signal: AbortSignal | undefined;
  #logger: Logger | undefined;

  constructor(request: Request, response: Response, parts: RequestParts) {
    const { requestId, trace } = response.locals as RequestIdentity;
    this.requestId = requestId;
    this.trace = trace;
    this.idempotencyKey = parts.idempotencyKey;
    this.lastEventId = parts.lastEventId;
    if (parts.session !== undefined) {
      if (parts.session.token !== undefined) this.token = parts.session.token;
      this.rawToken = parts.session.raw;
    }
    this.#request = request;
    this.#response = response;
    this.#parts = parts;
  }

  /** The client's address, as far as trusted proxies vouch for it; IPv4 without its IPv6 mapping. */
  get clientIp(): string {
    return (this.#request.ip ?? "").replace(/^::ffff:(?=\d+\.)/, "");
  }

  get signal(): AbortSignal {
    this.#signal ??= abortedByClient(this.#response, this.#parts.stopping);
    return this.#signal;
  }

  get logger(): Logger {
    const { requestId, trace } = this;
    this.#logger ??= this.#parts.logger.child({ requestId, traceId: trace.traceId });
    return this.#logger;
  }
}

function abortedByClient(response: Response, stopping: AbortSignal | undefined): AbortSignal {
  const controller = new AbortController();
  const abort = () => {
    if (!response.writableFinished) controller.abort();
  };
  // Asked for late, it may be over already.
  if (response.closed) abort();
  else response.once("close", abort);
  return stopping === undefined ? controller.signal : AbortSignal.any([controller.signal, stopping]);
}
