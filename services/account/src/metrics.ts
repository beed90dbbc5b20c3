import type { Clock } from "@countersign/core";
import type { Metrics } from "@countersign/runtime";
import { Counter, Histogram } from "prom-client";
import type { AlertActions } from "./domain/chain-watch/account-event.ts";
import type { CreationStore } from "./domain/ports.ts";

/** Counts what no transaction of ours did to an account of ours; each is for an operator to look at. */
export function createAlertCounter({ registry }: Metrics, chains: Iterable<string>, actions: AlertActions) {
  const counter = new Counter({
    name: "countersign_account_chain_alerts_total",
    help: "Events of our accounts on chain that no transaction of ours caused",
    labelNames: ["chain", "kind", "frozen"] as const,
    registers: [registry],
  });
  // An alert of Prometheus sees the first one only if the series was there before.
  for (const chain of chains) {
    for (const [kind, action] of Object.entries(actions)) {
      if (action !== "off") counter.inc({ chain, kind, frozen: String(action === "freeze") }, 0);
    }
  }
  return counter;
}

/** Returns when an id of version 7 was made, in milliseconds since 1970. */
const madeAt = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

/** Observes how long creations take, from their assignment until the commit of their end. */
export function withCreationSeconds(store: CreationStore, { registry }: Metrics, clock: Clock): CreationStore {
  const seconds = new Histogram({
    name: "countersign_account_creation_seconds",
    help: "Seconds from the assignment of a creation until it is sealed or has failed",
    labelNames: ["outcome"] as const,
    buckets: [1, 2.5, 5, 10, 15, 20, 30, 60, 300],
    registers: [registry],
  });
  const observe = (outcome: "sealed" | "failed", id: string, ended: boolean): boolean => {
    if (ended) seconds.observe({ outcome }, Math.max(0, clock.now().getTime() - madeAt(id)) / 1_000);
    return ended;
  };
  return {
    ...store,
    sealed: async (id, ...rest) => observe("sealed", id, await store.sealed(id, ...rest)),
    failed: async (id, ...rest) => observe("failed", id, await store.failed(id, ...rest)),
  };
}
