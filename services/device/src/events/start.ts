import { startEventFeeds } from "@countersign/events";
import type { ServiceRuntime } from "@countersign/runtime";
import { Gauge } from "prom-client";
import type { WatchAccountOptions } from "./watch-account.ts";
import { createWatchers } from "./watchers.ts";

// The tabs of one browser, and what they left open when they lost their network.
const MAX_PER_SESSION = 50;
const MAX_WAITING = 256;

/** Starts the process's feeds of all events and the streams that it serves, which `signal` ends. */
export function startAccountEvents(runtime: ServiceRuntime): WatchAccountOptions {
  const { nats, logger, metrics, clock, signal, onClose } = runtime;
  const watchers = createWatchers({ maxPerSession: MAX_PER_SESSION, maxWaiting: MAX_WAITING });
  const feeds = startEventFeeds({ nats, logger, onEvent: watchers.publish, onBreak: () => watchers.endAll() });
  onClose("account-events", feeds.close);
  signal.addEventListener("abort", () => watchers.endAll(true), { once: true });
  new Gauge({
    name: "countersign_event_streams",
    help: "Streams of account events that are open",
    registers: [metrics.registry],
    collect() {
      this.set(watchers.count());
    },
  });
  return { feeds, watchers, clock };
}
