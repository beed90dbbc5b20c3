import { randomUUID } from "node:crypto";
import type { TraceParent } from "@countersign/core";

/**
 * Returns 32 random hex digits. Node keeps random bytes for UUIDs ready: randomBytes takes ten times as
 * long.
 */
const randomHex = (): string => randomUUID().replaceAll("-", "");

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Returns the trace that a header names, or a new one where it is absent or malformed. */
export function traceFrom(header: string | undefined): TraceParent {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(header ?? "") ?? [];
  if (
    traceId === undefined ||
    spanId === undefined ||
    flags === undefined ||
    /^0+$/.test(traceId) ||
    /^0+$/.test(spanId)
  ) {
    return { traceId: randomHex(), spanId: randomHex().slice(16), flags: "01" };
  }
  return { traceId, spanId, flags };
}

/** Returns the same trace with a new span. */
export function childTrace(parent: TraceParent): TraceParent {
  return { ...parent, spanId: randomHex().slice(16) };
}

/** Returns a `traceparent` header. */
export function traceHeader(trace: TraceParent): string {
  return `00-${trace.traceId}-${trace.spanId}-${trace.flags}`;
}
