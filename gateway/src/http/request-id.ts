import { randomBytes, randomUUID } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

const SANE_REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** What ties a request to its log lines and to its trace. */
export interface RequestIdentity {
  requestId: string;
  /** W3C Trace Context level 1, section 3.2: our own span in the caller's trace, or in a new one. */
  traceparent: string;
}

/** Takes `X-Request-Id` and `traceparent` from the headers where they are sane, and makes what is missing. */
export function identifyRequest(headers: IncomingHttpHeaders): RequestIdentity {
  const given = headers["x-request-id"];
  const requestId = typeof given === "string" && SANE_REQUEST_ID.test(given) ? given : randomUUID();
  const parent = typeof headers.traceparent === "string" ? TRACEPARENT.exec(headers.traceparent) : null;
  const known = parent !== null && !/^0+$/.test(parent[1]!) && !/^0+$/.test(parent[2]!);
  const traceId = known ? parent[1] : randomBytes(16).toString("hex");
  return { requestId, traceparent: `00-${traceId}-${randomBytes(8).toString("hex")}-${known ? parent[3] : "01"}` };
}
