import type { Postgres } from "@countersign/postgres";
import { Gauge, Histogram } from "prom-client";
import type { Metrics } from "./metrics.ts";

export function createPoolMetrics({ registry }: Metrics) {
  const labelNames = ["pool"] as const;
  const registers = [registry];
  const pools = new Map<string, Postgres>();
  const waits = new Histogram({
    name: "countersign_postgres_pool_wait_seconds",
    help: "Seconds that work waited for a connection, where none was free",
    labelNames,
    buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5],
    registers,
  });
  new Gauge({
    name: "countersign_postgres_pool_connections",
    help: "Open connections by state, and the most that may be open",
    labelNames: ["pool", "state"] as const,
    registers,
    collect() {
      for (const [pool, postgres] of pools) {
        const { total, idle, max } = postgres.connections();
        this.set({ pool, state: "busy" }, total - idle);
        this.set({ pool, state: "idle" }, idle);
        this.set({ pool, state: "max" }, max);
      }
    },
  });
  new Gauge({
    name: "countersign_postgres_pool_waiting",
    help: "Work that waits for a connection",
    labelNames,
    registers,
    collect() {
      for (const [pool, postgres] of pools) this.set({ pool }, postgres.connections().waiting);
    },
  });
  return {
    onWait: (pool: string) => {
      const seconds = waits.labels({ pool });
      return (value: number) => seconds.observe(value);
    },
    add: (pool: string, postgres: Postgres) => void pools.set(pool, postgres),
  };
}
