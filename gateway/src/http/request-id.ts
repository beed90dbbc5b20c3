import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { childTrace, type TraceParent, traceFrom } from "@countersign/rpc";

// The services take no other either.
const SANE_REQUEST_ID = /^[A-Za-z0-9._-]{8,64}$/;

/** What ties a request to its log lines and to its trace. */
export interface RequestIdentity {
  requestId: string;
  /** Our own span in the caller's trace, or in a new one. */
  trace: TraceParent;
}

/** Takes `X-Request-Id` and `traceparent` from the headers where they are sane, and makes what is missing. */
export function identifyRequest(headers: IncomingHttpHeaders): RequestIdentity {
  const given = headers["x-request-id"];
  const requestId = typeof given === "string" && SANE_REQUEST_ID.test(given) ? given : randomUUID();
  const parent = typeof headers.traceparent === "string" ? headers.traceparent : undefined;
  return { requestId, trace: childTrace(traceFrom(parent)) };
}
