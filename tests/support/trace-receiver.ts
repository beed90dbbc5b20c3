import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** A span as a collector gets it. */
export interface ReceivedSpan {
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  /** "" for the first of a trace. */
  parentSpanId: string;
  /** As in OpenTelemetry's protocol: 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  kind: number;
  attributes: Record<string, unknown>;
  failed: boolean;
}

interface Attribute {
  key: string;
  value: Record<string, unknown>;
}

/** The parts of opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest that are read here. */
interface ExportRequest {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: {
      spans: (Omit<ReceivedSpan, "service" | "attributes" | "failed"> & {
        attributes: Attribute[];
        status?: { code?: number };
      })[];
    }[];
  }[];
}

const valuesOf = (attributes: readonly Attribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

/** Starts a collector of OTLP over HTTP (JSON) on a free port; it keeps the spans. */
export async function startTraceReceiver() {
  const spans: ReceivedSpan[] = [];
  const server = createServer(async (request, response) => {
    const { resourceSpans } = JSON.parse(await text(request)) as ExportRequest;
    for (const { resource, scopeSpans } of resourceSpans) {
      const service = String(valuesOf(resource.attributes)["service.name"]);
      for (const { spans: sent } of scopeSpans) {
        for (const { name, traceId, spanId, parentSpanId = "", kind, attributes, status } of sent) {
          const failed = status?.code === 2;
          spans.push({
            service,
            name,
            traceId,
            spanId,
            parentSpanId,
            kind,
            attributes: valuesOf(attributes),
            failed,
          });
        }
      }
    }
    response.setHeader("content-type", "application/json").end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}
