import { randomFillSync } from "node:crypto";

/** A position in a distributed trace (W3C Trace Context, section 3.2). */
export interface TraceParent {
  /** 32 hex digits. */
  traceId: string;
  /** 16 hex digits. */
  spanId: string;
  /** Two hex digits; 01 is sampled. */
  flags: string;
}

// Every request on every hop needs a few bytes: asking the generator for each costs more than all the rest of a trace.
const pool = Buffer.alloc(8192);
let used = pool.length;

function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  return pool.toString("hex", used - bytes, used);
}

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** The trace that a header names, or a new one where it is absent or malformed. */
export function traceFrom(header: string | undefined): TraceParent {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(header ?? "") ?? [];
  if (
    traceId === undefined ||
    spanId === undefined ||
    flags === undefined ||
    /^0+$/.test(traceId) ||
    /^0+$/.test(spanId)
  ) {
    return { traceId: randomHex(16), spanId: randomHex(8), flags: "01" };
  }
  return { traceId, spanId, flags };
}

/** The same trace with a span of its own. */
export function childTrace(parent: TraceParent): TraceParent {
  return { ...parent, spanId: randomHex(8) };
}

/** The header. */
export function traceHeader(trace: TraceParent): string {
  return `00-${trace.traceId}-${trace.spanId}-${trace.flags}`;
}
