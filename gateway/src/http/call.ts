import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import { AppError, parseTraceParent, type Span, startSpan, type TraceParent } from "@countersign/core";
import { type CallContext, requestIdFrom } from "@countersign/rpc";
import type { Request, Response } from "express";

/** The identifiers of a request in logs and traces. */
export interface RequestIdentity {
  requestId: string;
  /** The position of the gateway's own span, in the caller's trace or in a new one. */
  trace: TraceParent;
}

/**
 * Takes `X-Request-Id` and `traceparent` from the headers where they are valid, and creates what is
 * missing.
 */
export function identifyRequest(headers: IncomingHttpHeaders): RequestIdentity & { span: Span } {
  const only = (value: string | string[] | undefined) => (typeof value === "string" ? value : undefined);
  const span = startSpan("HTTP request", { kind: "server", parent: parseTraceParent(only(headers.traceparent)) });
  return { requestId: requestIdFrom(only(headers["x-request-id"])), trace: span.trace, span };
}

/** The parts of the HTTP request, besides its validated input, that a handler passes on to the services. */
export interface HttpCall extends RequestIdentity, Pick<CallContext, "signal"> {
  /** The access token; absent where the route takes none or none was sent. */
  rawToken?: string;
  /** The account of the answer, for the log, where no token was verified; set by the handler. */
  accountId?: string;
  /** The client's address, as far as trusted proxies name it, or ""; IPv4 without its IPv6 mapping. */
  clientIp: string;
  /** From the Idempotency-Key header; "" without one. */
  idempotencyKey: string;
  /** From the Last-Event-ID header of an event stream; "" without one. */
  lastEventId: string;
}

export interface CallParts extends Pick<HttpCall, "idempotencyKey" | "lastEventId"> {
  rawToken: string | undefined;
  /** Ends the call too. */
  stopping?: AbortSignal | undefined;
}

/** Returns the call of a request. Its signal aborts when the client goes away before it has its answer. */
export function createCall(request: Request, response: Response, parts: CallParts): HttpCall {
  const { requestId, trace } = response.locals as RequestIdentity;
  const { rawToken, idempotencyKey, lastEventId, stopping } = parts;
  const controller = new AbortController();
  const abort = () => {
    if (!response.writableFinished) controller.abort();
  };
  if (response.closed) abort();
  else response.once("close", abort);
  return {
    requestId,
    trace,
    ...(rawToken !== undefined && { rawToken }),
    clientIp: addressIn((request.ip ?? "").replace(/^::ffff:(?=\d+\.)/, "")),
    signal: stopping === undefined ? controller.signal : AbortSignal.any([controller.signal, stopping]),
    idempotencyKey,
    lastEventId,
  };
}

/** A proxy may pass a client's own entry on, with characters that no metadata of gRPC may have. */
const addressIn = (entry: string): string => (isIP(entry) === 0 ? "" : entry);

// Bare, or as the string item of RFC 9651 that draft-ietf-httpapi-idempotency-key-header requires.
const IDEMPOTENCY_KEY = /^(?:"([\x20\x21\x23-\x5b\x5d-\x7e]{1,255})"|([\x21\x23-\x7e]{1,255}))$/;

/** Returns the key of an Idempotency-Key header; "" without one. Errors: InvalidRequest. */
export function readIdempotencyKey(header: string | string[] | undefined): string {
  if (header === undefined) return "";
  const match = typeof header === "string" ? IDEMPOTENCY_KEY.exec(header) : null;
  const key = match?.[1] ?? match?.[2];
  if (key === undefined) {
    throw new AppError("InvalidRequest", {
      detail: "Idempotency-Key is one string of 1 to 255 visible ASCII characters",
    });
  }
  return key;
}
