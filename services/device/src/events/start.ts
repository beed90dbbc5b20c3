import { startEventFeeds } from "@countersign/events";
import type { ServiceRuntime } from "@countersign/runtime";
import { Gauge } from "prom-client";
import type { WatchAccountOptions } from "./watch-account.ts";
import { createWatchers } from "./watchers.ts";

// Twenty devices, and what they left open when they lost their network.
const MAX_PER_ACCOUNT = 50;
const MAX_WAITING = 256;

/** Starts the process's feeds of all events and the streams that it serves, which `signal` ends. */
export function startAccountEvents({
  nats,
  logger,
  metrics,
  clock,
  signal,
  onClose,
}: ServiceRuntime): WatchAccountOptions {
  const watchers = createWatchers({ maxPerAccount: MAX_PER_ACCOUNT, maxWaiting: MAX_WAITING });
  const feeds = startEventFeeds({
    nats,
    logger,
    onEvent: watchers.publish,
    onBreak: () => watchers.endAll(),
  });
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
