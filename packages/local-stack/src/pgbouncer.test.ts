import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root, services } from "@countersign/build/paths.ts";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { MAX_CONNECTIONS } from "./testing/postgres-connections.ts";

const ini = readFileSync(join(root, "deploy/pgbouncer.ini"), "utf8");
const numberOf = (name: string, text: string) => Number(new RegExp(`${name} ?= ?(\\d+)`).exec(text)?.[1]);
const lineOf = (service: string) => new RegExp(`^countersign_${service} = .*$`, "m").exec(ini)?.[0] ?? "";
const poolOf = (service: string) =>
  numberOf("pool_size", lineOf(service)) || numberOf("default_pool_size", ini.slice(ini.indexOf("[pgbouncer]")));

/** Replicas of each service, and one more of each while a new version replaces them. */
const REPLICAS = 20;
const WITH_UPGRADE = REPLICAS + 1;

it("twenty replicas of every service fit into 500 connections to Postgres, and 60 are left for others", () => {
  const pools = services.map(poolOf);
  expect(pools.every((size) => size >= 80)).toBe(true);
  expect(pools.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(500 - 60);
  const clients = services.map((service) => WITH_UPGRADE * MAX_CONNECTIONS[service]);
  expect(clients.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(numberOf("max_client_conn", ini));
});

it("docs/scaling.md has the sums of connections without PgBouncer", () => {
  const { processes } = parse(readFileSync(join(root, "deploy/helm/countersign/values.yaml"), "utf8"));
  const most = (service: string) => processes[service].autoscaling.maxReplicas || processes[service].replicas;
  const sum = (replicas: (service: string) => number) =>
    services.reduce((total, service) => total + replicas(service) * MAX_CONNECTIONS[service], 0);
  const page = readFileSync(join(root, "docs/scaling.md"), "utf8").replaceAll("\n", " ");
  const each = sum(() => 1);
  expect(page).toContain(
    `${REPLICAS} × ${each} = ${REPLICAS * each} connections, and ${sum(() => WITH_UPGRADE)} during`,
  );
  expect(page).toContain(`scaled to the most, make ${sum(most)}, and ${sum(most) + each} during an upgrade`);
});

it("a second role of a service, as while its password is replaced, adds no connections to Postgres", () => {
  expect(numberOf("max_db_connections", ini)).toBe(numberOf("default_pool_size", ini));
});

it("passwords and rows are encrypted on both sides", () => {
  expect(ini).toMatch(/^client_tls_sslmode = require$/m);
  expect(ini).toMatch(/^server_tls_sslmode = verify-full$/m);
});

it("transactions that wait for NATS leave connections to others", () => {
  for (const service of services) expect(poolOf(service)).toBeGreaterThanOrEqual(4 * REPLICAS);
});

it("each database has the time limits that the services send", () => {
  for (const service of services) {
    expect(lineOf(service)).toContain("SET statement_timeout = 10000");
    expect(lineOf(service)).toContain("SET idle_in_transaction_session_timeout = 30000");
  }
});
