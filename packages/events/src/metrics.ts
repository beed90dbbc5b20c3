import { Counter, Gauge, Histogram, type Registry } from "prom-client";

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

/** `dropped`: for the last time, or no event at all. */
type Outcome = "handled" | "failed" | "dropped";

interface Lag {
  num_pending: number;
  num_ack_pending: number;
}

function createConsumerMetrics(registers: Registry[]) {
  const labelNames = ["durable"] as const;
  return {
    seconds: new Histogram({
      name: "countersign_consumer_event_seconds",
      help: "Seconds of one delivery of an event to its handler",
      labelNames,
      buckets: [0.005, 0.025, 0.1, 0.5, 1, 5, 30],
      registers,
    }),
    events: new Counter({
      name: "countersign_consumer_events_total",
      help: "Deliveries of events by their outcome: failed ones come again, dropped ones never do",
      labelNames: ["durable", "outcome"] as const,
      registers,
    }),
    pending: new Gauge({
      name: "countersign_consumer_pending_events",
      help: "Events in NATS that no replica has got yet",
      labelNames,
      registers,
    }),
    unacknowledged: new Gauge({
      name: "countersign_consumer_unacknowledged_events",
      help: "Events that a replica has got and not acknowledged, or that failed and come again",
      labelNames,
      registers,
    }),
  };
}

const perRegistry = new WeakMap<Registry, ReturnType<typeof createConsumerMetrics>>();

/** Returns the metrics of one consumer; all consumers of a process share their names. */
export function consumerMetrics(metrics: { registry: Registry } | undefined, durable: string) {
  const registry = metrics?.registry;
  const shared = (registry && perRegistry.get(registry)) ?? createConsumerMetrics(registry ? [registry] : []);
  if (registry) perRegistry.set(registry, shared);
  // An alert sees the first one only if the series was there before.
  for (const outcome of ["handled", "failed", "dropped"] satisfies Outcome[])
    shared.events.inc({ durable, outcome }, 0);
  const lags = new Map<string, Lag>();
  const sum = (of: keyof Lag) => [...lags.values()].reduce((total, lag) => total + lag[of], 0);
  return {
    observe(outcome: Outcome, seconds: number): void {
      shared.events.inc({ durable, outcome });
      shared.seconds.observe({ durable }, seconds);
    },
    /** Sets what waits in one stream; the metrics have the sum of all. */
    setLag(stream: string, { num_pending, num_ack_pending }: Lag): void {
      lags.set(stream, { num_pending, num_ack_pending });
      shared.pending.set({ durable }, sum("num_pending"));
      shared.unacknowledged.set({ durable }, sum("num_ack_pending"));
    },
  };
}
