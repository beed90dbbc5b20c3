import type { Clock, Logger } from "@countersign/core";
import { type NatsLink, startEventFeeds } from "@countersign/events";
import type { Metrics } from "@countersign/runtime";
import { Gauge } from "prom-client";
import type { WatchAccountOptions } from "./watch-account.ts";
import { createWatchers } from "./watchers.ts";

export interface AccountEventsOptions {
  nats: NatsLink;
  logger: Logger;
  metrics: Metrics;
  clock: Clock;
  /** Aborts when the process begins to stop. */
  stopping: AbortSignal;
}

// Twenty devices, and what they left open when they lost their network.
const MAX_PER_ACCOUNT = 50;
const MAX_WAITING = 256;

/** Starts the process's feeds of all events and the streams that it serves. */
export function startAccountEvents(options: AccountEventsOptions): WatchAccountOptions & { close(): Promise<void> } {
  const { nats, logger, metrics, clock, stopping } = options;
  const watchers = createWatchers({ maxPerAccount: MAX_PER_ACCOUNT, maxWaiting: MAX_WAITING });
  const feeds = startEventFeeds({
    nats,
    logger,
    onEvent: watchers.publish,
    onBreak: () => watchers.endAll(),
  });
  stopping.addEventListener("abort", () => watchers.endAll(true), { once: true });
  new Gauge({
    name: "countersign_event_streams",
    help: "Streams of account events that are open",
    registers: [metrics.registry],
    collect() {
      this.set(watchers.count());
    },
  });
  return { feeds, watchers, clock, close: feeds.close };
}
