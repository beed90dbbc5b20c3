import { randomUUID } from "node:crypto";
import type { TraceParent } from "./trace-parent.ts";
import { wrapMethods } from "./wrap-methods.ts";

/** As in OpenTelemetry: who works for whom. */
export type SpanKind = "server" | "client" | "consumer" | "internal";

export interface SpanOptions {
  /** Default internal. */
  kind?: SpanKind;
  /** Default: the span whose `run` this one starts in; without one it begins a new trace. */
  parent?: TraceParent | undefined;
  /** Further spans that wait for this work, of other traces. */
  links?: readonly TraceParent[];
  attributes?: SpanAttributes;
}

/** Never personal data, tokens or keys: traces are read by more people than databases. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface SpanOutcome {
  /** The span's name where it is known only at the end. */
  name?: string;
  error?: string | undefined;
  attributes?: SpanAttributes;
}

/** A piece of work in a trace. */
export interface Span {
  /** Its position, for log lines and for the callee. */
  readonly trace: TraceParent;
  /** Runs work whose spans become children of this one. */
  run<T>(work: () => T): T;
  end(outcome?: SpanOutcome): void;
}

/** Makes the spans of a process that exports them. */
export interface Tracer {
  start(name: string, options: SpanOptions): Span;
  /** Returns the position of the span whose `run` the caller is in. */
  active(): TraceParent | undefined;
  /** Runs work outside of every span. */
  detached<T>(work: () => T): T;
}

let tracer: Tracer | undefined;

/**
 * Records the spans that begin from now on; undefined: none. Call it before ports are made: earlier ones stay
 * as they are.
 */
export function recordSpans(by: Tracer | undefined): void {
  tracer = by;
}

/**
 * Starts a span. Where the process exports none, it is only a position, so that log lines and calls of a
 * request have the same trace id all the same.
 */
export const startSpan = (name: string, options: SpanOptions = {}): Span =>
  tracer?.start(name, options) ?? new UnrecordedSpan(options.parent);

/**
 * Returns the position of the span whose work this is; undefined outside of spans, or if none are exported.
 */
export const activeTrace = (): TraceParent | undefined => tracer?.active();

/** Runs work that a request starts and that goes on for others: its spans are not the request's. */
export const detached = <T>(work: () => T): T => (tracer === undefined ? work() : tracer.detached(work));

/** Does work in a span, which ends with it. */
export function inSpan<T>(name: string, options: SpanOptions, work: (trace: TraceParent) => Promise<T>): Promise<T> {
  if (tracer === undefined) return work(options.parent ?? newTrace());
  const span = tracer.start(name, options);
  const done = span.run(async () => work(span.trace));
  done.then(
    () => span.end(),
    (error: unknown) => span.end({ error: reasonOf(error) }),
  );
  return done;
}

/** Returns a reason or a class, never a message, which may hold data. */
function reasonOf(error: unknown): string {
  const { reason, name } = (typeof error === "object" && error !== null ? error : {}) as Record<string, unknown>;
  return typeof reason === "string" ? reason : typeof name === "string" ? name : typeof error;
}

/**
 * Makes a span of each call of a port's methods within a request: "keys.withAccount". `false` leaves out a
 * method that returns no promise. Where the process exports no spans it returns the port itself.
 */
export function withSpans<T extends object>(name: string, port: T, methods: Readonly<Record<string, unknown>>): T {
  if (tracer === undefined) return port;
  return wrapMethods(port, methods, (key, method) => (...args) => {
    // Jobs poll each second: their calls would be most of what is exported.
    if (activeTrace() === undefined) return method(...args);
    return inSpan(`${name}.${key}`, {}, async () => method(...args));
  });
}

/**
 * Returns a new position in the trace of `parent`, or in a new one. A new trace is not sampled ("00") where
 * this process exports spans: it left this work out, and callees leave it out too. Where this process exports
 * none, the trace is sampled ("01"), so that a callee that exports spans does so.
 */
export function newTrace(parent?: TraceParent): TraceParent {
  const random = randomHex();
  // A span id is unique within its trace, so that the first one needs no randomness of its own.
  return {
    traceId: parent?.traceId ?? random,
    spanId: random.slice(16),
    flags: parent?.flags ?? (tracer ? "00" : "01"),
  };
}

/** The span of a process that exports none. */
class UnrecordedSpan implements Span {
  readonly trace: TraceParent;
  constructor(parent: TraceParent | undefined) {
    this.trace = newTrace(parent);
  }
  run<T>(work: () => T): T {
    return work();
  }
  end(): void {}
}

/**
 * Returns 32 random hex digits. Node keeps random bytes for UUIDs ready: randomBytes takes ten times as
 * long.
 */
const randomHex = (): string => randomUUID().replaceAll("-", "");
