import { randomUUID } from "node:crypto";
import type { TraceParent } from "@countersign/core";

/**
 * Returns 32 random hex digits. Node keeps random bytes for UUIDs ready: randomBytes takes ten times as
 * long.
 */
const randomHex = (): string => randomUUID().replaceAll("-", "");

const newSpanId = (): string => randomHex().slice(16);

// W3C Trace Context, version 00; ids of zeros only are not valid.
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})$/;

/**
 * Returns a new span of the trace that a header names, or the first span of a new one where it is absent or
 * malformed.
 */
export function spanOf(header: string | undefined): TraceParent {
  const [, traceId, flags = "01"] = TRACEPARENT.exec(header ?? "") ?? [];
  if (traceId !== undefined) return { traceId, spanId: newSpanId(), flags };
  const random = randomHex();
  // A span id is unique within its trace, so that the first one needs no randomness of its own.
  return { traceId: random, spanId: random.slice(16), flags };
}

/** Returns the same trace with a new span. */
export const childTrace = (parent: TraceParent): TraceParent => ({ ...parent, spanId: newSpanId() });

/** Returns a `traceparent` header. */
export function traceHeader(trace: TraceParent): string {
  return `00-${trace.traceId}-${trace.spanId}-${trace.flags}`;
}
