import { AsyncLocalStorage } from "node:async_hooks";
import { newTrace, recordSpans, type TraceParent } from "@countersign/core";

/** Runs work in a process that exports spans, whose positions are all that it keeps of them. */
export async function withTraces(work: (inTrace: <T>(trace: TraceParent, work: () => T) => T) => Promise<void>) {
  const active = new AsyncLocalStorage<TraceParent>();
  recordSpans({
    start: (_name, { parent = active.getStore() }) => {
      const trace = newTrace(parent);
      return { trace, run: (inner) => active.run(trace, inner), end: () => undefined };
    },
    active: () => active.getStore(),
    detached: (inner) => active.exit(inner),
  });
  try {
    await work((trace, inner) => active.run(trace, inner));
  } finally {
    recordSpans(undefined);
  }
}
