import { Counter, Gauge, type Registry } from "prom-client";

/** Creates the publisher's metrics, in the process's registry if there is one. */
export function createOutboxMetrics(metrics: { registry: Registry } | undefined) {
  const registers = metrics === undefined ? [] : [metrics.registry];
  return {
    published: new Counter({
      name: "countersign_outbox_published_total",
      help: "Events that NATS acknowledged",
      registers,
    }),
    failed: new Counter({
      name: "countersign_outbox_failed_total",
      help: "Publications that failed and wait",
      registers,
    }),
    oldest: new Gauge({
      name: "countersign_outbox_oldest_seconds",
      help: "Age of the oldest event that is not published",
      registers,
    }),
  };
}
