import { type Clock, HOUR_MS, type Logger, sleepUntil } from "@countersign/core";
import type { WebhookEndpoint } from "./config.ts";
import type { LeasedQueue, WebhookStore } from "./ports.ts";
import type { SendWebhook } from "./send.ts";

/** Longer than an attempt and its statements: a process that died is replaced after it. */
export const LEASE_MS = 60_000;
/** A lease is given back after this time, so that every message has most of a lease for its attempt. */
const WORK_MS = 20_000;
const FIRST_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 6 * HOUR_MS;
const MAX_RETRY_AFTER_S = 3_600;
/** Requests of this process to one endpoint at once: a slow one holds up no other. */
const MAX_REQUESTS = 10;
/** After a failure of the database the next account waits, so that not all of them are leased in vain. */
const FAILURE_PAUSE_MS = 100;

/** Returns the milliseconds until the next attempt after `failures` of them: 5, 15, 45 s … 6 h, ±20 %. */
export function pauseMs(failures: number, random: number, retryAfterS = 0): number {
  const pause = Math.min(FIRST_PAUSE_MS * 3 ** (failures - 1), MAX_PAUSE_MS) * (0.8 + 0.4 * random);
  return Math.max(Math.round(pause), Math.min(retryAfterS, MAX_RETRY_AFTER_S) * 1000);
}

export interface DeliverOptions {
  readonly store: WebhookStore;
  readonly send: SendWebhook;
  /** Returns an endpoint as it is configured now. Undefined: nothing more is sent to it. */
  endpoint(id: string): WebhookEndpoint | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  observe(endpoint: string, outcome: "delivered" | "failed" | "dead"): void;
}

/**
 * Returns what sends the due messages of an endpoint, until none is due: of each account the first one that
 * waits, and the next only after it has arrived or was given up. Called again meanwhile, it looks for due
 * messages at once. Any number of processes may do so at once: a lease, which is a conditional update,
 * decides. One that dies has sent a message at most once more than it recorded.
 */
export function deliverDue({ store, send, endpoint: endpointOf, clock, logger, observe }: DeliverOptions) {
  /** Sends until a message fails, nothing waits, the time is over, or nothing more is to be sent. */
  async function drain(queue: LeasedQueue): Promise<void> {
    const { accountId } = queue;
    const stopAt = performance.now() + WORK_MS;
    while (performance.now() < stopAt) {
      const endpoint = endpointOf(queue.endpoint);
      if (endpoint === undefined) break;
      const delivery = await store.first(queue);
      if (delivery === undefined) break;
      const { eventId, body, attempts, giveUpAt } = delivery;
      const { delivered, text, retryAfterS } = await send(endpoint, { id: eventId, body });
      const now = clock.now();
      if (delivered) {
        await store.end(queue, eventId, "delivered", text, now);
        observe(endpoint.id, "delivered");
        continue;
      }
      const line = { endpoint: endpoint.id, eventId, accountId, attempt: attempts + 1, result: text };
      if (now >= giveUpAt) {
        await store.end(queue, eventId, "dead", text, now);
        observe(endpoint.id, "dead");
        logger.error(line, "webhook given up after three days");
        continue;
      }
      const dueAt = new Date(now.getTime() + pauseMs(attempts + 1, Math.random(), retryAfterS));
      await store.retry(queue, eventId, text, dueAt);
      observe(endpoint.id, "failed");
      logger.warn(line, "webhook not delivered; will retry");
      return;
    }
    await store.release(queue, clock.now());
  }

  const tryDrain = (queue: LeasedQueue) =>
    drain(queue).catch(async (err) => {
      const { endpoint, accountId } = queue;
      logger.warn({ err, endpoint, accountId }, "webhooks of an account not sent; will retry after the lease");
      await sleepUntil(FAILURE_PAUSE_MS, []);
    });

  async function lease(id: string, limit: number): Promise<LeasedQueue[]> {
    const now = clock.now();
    try {
      return await store.lease(id, limit, now, new Date(now.getTime() + LEASE_MS));
    } catch (err) {
      logger.warn({ err, endpoint: id }, "due webhooks of an endpoint not found; will look again");
      return [];
    }
  }

  /** For each endpoint that is worked on: lets its run look for due queues at once. */
  const lookAgain = new Map<string, () => void>();

  return async (id: string): Promise<void> => {
    const again = lookAgain.get(id);
    if (again) return again();
    const running = new Set<Promise<void>>();
    while (endpointOf(id)) {
      const asked = new Promise<void>((resolve) => lookAgain.set(id, resolve));
      for (const queue of await lease(id, MAX_REQUESTS - running.size)) {
        const work: Promise<void> = tryDrain(queue).finally(() => running.delete(work));
        running.add(work);
      }
      if (running.size === 0) break;
      await Promise.race(running.size < MAX_REQUESTS ? [...running, asked] : running);
    }
    await Promise.all(running);
    lookAgain.delete(id);
  };
}
