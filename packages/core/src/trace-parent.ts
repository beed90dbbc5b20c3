/** A position in a distributed trace (W3C Trace Context, section 3.2). */
export interface TraceParent {
  /** 32 hex digits. */
  traceId: string;
  /** 16 hex digits. */
  spanId: string;
  /** Two hex digits; 01 is sampled. */
  flags: string;
}
