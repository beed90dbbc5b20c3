import { uuidv7, type Watched } from "@countersign/core";
import { createReadGauge, type ServiceRuntime } from "@countersign/runtime";
import { Counter } from "prom-client";
import { addressRules } from "./addresses.ts";
import type { WebhookEndpoint } from "./config.ts";
import { deliverDue } from "./deliver.ts";
import { webhookBody } from "./message.ts";
import { type OnWebhookEventOptions, onWebhookEvent } from "./on-event.ts";
import type { WebhookStore } from "./ports.ts";
import { type Attempt, createSender } from "./send.ts";

const POLL_MS = 500;
const OBSERVE_MS = 15_000;
const FORGET_MS = 60_000;
const MAX_CONCURRENT_EVENTS = 20;

interface WebhooksOptions {
  readonly endpoints: Watched<readonly WebhookEndpoint[]>;
  readonly allowedNetworks: readonly string[];
  readonly store: WebhookStore;
  readonly listApps: OnWebhookEventOptions["listApps"];
}

/** Queues events for the endpoints of apps, and sends what is due, until the process stops. */
export function startWebhooks(runtime: ServiceRuntime, options: WebhooksOptions) {
  const { metrics, clock, signal, consume, every, onClose } = runtime;
  const { endpoints, allowedNetworks, store, listApps } = options;
  const logger = runtime.logger.child({ component: "webhooks" });
  const send = createSender({ rules: addressRules(allowedNetworks), clock });
  const attempts = new Counter({
    name: "countersign_device_webhook_attempts_total",
    help: "Attempts to deliver a webhook, by endpoint and outcome",
    labelNames: ["endpoint", "outcome"] as const,
    registers: [metrics.registry],
  });
  const observe = (endpoint: string, outcome: string) => attempts.inc({ endpoint, outcome });
  const find = (id: string) => endpoints.current().find((each) => each.id === id);
  const endpoint = (id: string) => (signal.aborted ? undefined : find(id));
  const deliver = deliverDue({ store, send, endpoint, clock, logger, observe });
  const setState = createReadGauge(metrics, {
    name: "countersign_device_webhook_events",
    help: "Events for an endpoint that wait, or were given up and are kept, at most 10,000 each",
    labelNames: ["endpoint", "state"],
  });
  const setOldest = createReadGauge(metrics, {
    name: "countersign_device_webhook_oldest_seconds",
    help: "Age of the oldest event that waits for an endpoint; 0 where none waits",
    labelNames: ["endpoint"],
  });

  const running = new Set<Promise<void>>();
  /** Works on each endpoint apart, so that a slow one holds up no other. */
  const begin = ({ id }: WebhookEndpoint): void => {
    const work: Promise<void> = deliver(id).finally(() => running.delete(work));
    running.add(work);
  };
  onClose("webhooks", () => Promise.all(running));
  consume({
    durable: "device-webhooks",
    concurrency: MAX_CONCURRENT_EVENTS,
    handler: onWebhookEvent({ endpoints, store, listApps, clock }),
  });
  every(POLL_MS, "webhooks", async () => endpoints.current().forEach(begin));
  every(FORGET_MS, "forget webhooks", () => store.forget(clock.now()));
  every(OBSERVE_MS, "open webhooks", async () => {
    const states = await store.states(endpoints.current().map(({ id }) => id));
    const now = clock.now().getTime();
    setState(
      states.flatMap(({ endpoint, waiting, dead }) => [
        { endpoint, state: "waiting", value: waiting },
        { endpoint, state: "dead", value: dead },
      ]),
    );
    setOldest(
      states.map(({ endpoint, oldestAt }) => ({ endpoint, value: oldestAt ? (now - oldestAt.getTime()) / 1000 : 0 })),
    );
  });

  return {
    /** Sends a test message, once, apart from the queues. Undefined: there is no such endpoint. */
    async test(id: string): Promise<Attempt | undefined> {
      const found = find(id);
      if (found === undefined) return undefined;
      return send(found, { id: uuidv7(clock), body: webhookBody("webhook.test", clock.now(), {}) });
    },
  };
}
