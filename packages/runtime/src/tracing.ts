import {
  recordSpans,
  type Span,
  type SpanKind,
  type SpanOutcome,
  type TraceParent,
  type Tracer,
} from "@countersign/core";
import {
  type Context,
  context,
  SpanKind as OtelKind,
  type Span as OtelSpan,
  ROOT_CONTEXT,
  type SpanContext,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { defaultResource, resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";

export interface TracingOptions {
  /** `service.name` of the spans. */
  name: string;
  /** Of the traces that begin here, the share that is exported: 0 to 1. */
  ratio: number;
  /** Whether callers may not decide that their traces are exported: for a process that anybody may call. */
  decidesItself: boolean;
}

const KINDS: Record<SpanKind, OtelKind> = {
  server: OtelKind.SERVER,
  client: OtelKind.CLIENT,
  consumer: OtelKind.CONSUMER,
  internal: OtelKind.INTERNAL,
};

/**
 * Exports the spans of this process by OTLP over HTTP; the exporter reads its address, headers, certificates
 * and time limits from OpenTelemetry's environment variables (OTEL_EXPORTER_OTLP_…). Spans that the collector
 * does not take in time are dropped. Returns how to export the last ones and end.
 */
export function startTracing({ name, ratio, decidesItself }: TracingOptions): () => Promise<void> {
  const root = new TraceIdRatioBasedSampler(ratio);
  const provider = new TracerProvider({
    resource: defaultResource().merge(
      resourceFromAttributes({ "service.name": name, "service.namespace": "countersign" }),
    ),
    sampler: decidesItself ? root : new ParentBasedSampler({ root }),
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
  });
  const contexts = new AsyncLocalStorageContextManager().enable();
  context.setGlobalContextManager(contexts);
  const otel = provider.getTracer("countersign");
  const tracer: Tracer = {
    start(spanName, { kind = "internal", parent, links = [], attributes }) {
      const under = parent === undefined ? context.active() : trace.setSpanContext(ROOT_CONTEXT, toContext(parent));
      return new RecordedSpan(
        otel.startSpan(
          spanName,
          {
            kind: KINDS[kind],
            links: links.map((link) => ({ context: toContext(link) })),
            ...(attributes && { attributes }),
          },
          under,
        ),
        under,
      );
    },
    active() {
      const active = trace.getSpanContext(context.active());
      return active && toParent(active);
    },
    detached: (work) => context.with(ROOT_CONTEXT, work),
  };
  recordSpans(tracer);
  return async () => {
    recordSpans(undefined);
    await provider.shutdown();
  };
}

class RecordedSpan implements Span {
  readonly trace: TraceParent;
  readonly #span: OtelSpan;
  readonly #context: Context;

  constructor(span: OtelSpan, under: Context) {
    this.trace = toParent(span.spanContext());
    this.#span = span;
    this.#context = trace.setSpan(under, span);
  }

  run<T>(work: () => T): T {
    return context.with(this.#context, work);
  }

  end({ name, error, attributes }: SpanOutcome = {}): void {
    if (name !== undefined) this.#span.updateName(name);
    if (attributes !== undefined) this.#span.setAttributes(attributes);
    if (error !== undefined) this.#span.setAttribute("error.type", error).setStatus({ code: SpanStatusCode.ERROR });
    this.#span.end();
  }
}

const toContext = ({ traceId, spanId, flags }: TraceParent): SpanContext => ({
  traceId,
  spanId,
  traceFlags: Number.parseInt(flags, 16),
  isRemote: true,
});

const toParent = ({ traceId, spanId, traceFlags }: SpanContext): TraceParent => ({
  traceId,
  spanId,
  flags: traceFlags.toString(16).padStart(2, "0"),
});
