import { X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync } from "node:fs";
import { request as httpRequest, METHODS } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { sendTransaction } from "@countersign/client";
import { tlsFiles } from "@countersign/local-stack/certificates.ts";
import { playDemo } from "@countersign/local-stack/demo.ts";
import { type RunningStack, startStack } from "@countersign/local-stack/stack.ts";
import { beginWith, removeState } from "@countersign/local-stack/testing/stack-template.ts";
import { networkOf, signUpPerson } from "@countersign/testing";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { type Family, readMetrics, type Series } from "../support/metrics.ts";
import { queries, type Selector, selectorsOf } from "../support/monitoring.ts";
import { newSecret, writeEndpoints } from "../support/webhook-receiver.ts";

const MAX_IDLE_SERIES = 500;
const names = ["gateway", "auth", "device", "key", "account", "signer"];
const stateDir = mkdtempSync(join(tmpdir(), "countersign-metrics-"));
let running: RunningStack;

const metricsOf = (name: string) => readMetrics(running.stack.processes[name]!.metrics!);
const all = async () => Promise.all(names.map(async (name) => [name, await metricsOf(name)] as const));
const seriesIn = (families: ReadonlyMap<string, Family>) => [...families.values()].flatMap(({ series }) => series);
/** Returns the sum of a series over all label values but these. */
async function valueIn(process: string, name: string, labels: Record<string, string> = {}): Promise<number> {
  const wanted = Object.entries(labels);
  return seriesIn(await metricsOf(process))
    .filter((each) => each.name === name && wanted.every(([label, value]) => each.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0);
}

beforeAll(async () => {
  await beginWith(inject("stackTemplate"), stateDir);
  // Nothing listens there: the series of webhooks are there for endpoints only.
  const url = "http://127.0.0.1:9/";
  writeEndpoints(stateDir, [{ id: "nowhere", appId: "demo", url, secrets: [newSecret()] }]);
  running = await startStack({ stateDir, freePorts: true, throwAway: true, isCopy: true, say: () => undefined });
}, 240_000);
afterAll(async () => {
  await running?.stop();
  removeState(stateDir);
});

it(`an idle process has fewer than ${MAX_IDLE_SERIES} series`, async () => {
  const counts = (await all()).map(([name, families]) => ({ name, series: seriesIn(families).length }));
  console.log(counts.map(({ name, series }) => `${name}: ${series}`).join(", "));
  expect(counts.filter(({ series }) => series >= MAX_IDLE_SERIES)).toEqual([]);
});

/** Returns the signer's signatures by operation and verdict: "transaction signed 1". */
async function signatures(): Promise<string[]> {
  const { series } = (await metricsOf("signer")).get("countersign_signer_signatures_total")!;
  return series.map(({ labels, value }) => `${labels.operation} ${labels.verdict} ${value}`).sort();
}

/** Returns the records of the audit log in the same way. */
async function auditRecords(): Promise<string[]> {
  const database = new pg.Client({ connectionString: running.stack.databases.signer });
  await database.connect();
  const { rows } = await database.query<{ line: string }>(
    "SELECT operation || ' ' || verdict || ' ' || count(*) AS line FROM audit_record GROUP BY operation, verdict",
  );
  await database.end();
  return rows.map(({ line }) => line).sort();
}

describe("after `npm run demo`", () => {
  beforeAll(async () => {
    vi.spyOn(console, "log").mockImplementation(() => undefined);
    await playDemo(running.stack);
    vi.restoreAllMocks();
  }, 60_000);

  it("there is each series that alerts, runbooks and dashboards ask for", async () => {
    const selectors = queries().flatMap(({ place, expr }) => selectorsOf(expr).map((each) => ({ place, ...each })));
    expect(selectors.length).toBeGreaterThan(100);
    const missing = async () => {
      const series = (await all()).flatMap(([, families]) => seriesIn(families));
      const absent = selectors.filter((selector) => !series.some((each) => isSelected(each, selector)));
      return absent.map(({ place, metric, matchers }) => ({ place, metric, matchers }));
    };
    // Some gauges are read every 15 seconds.
    await expect.poll(missing, { timeout: 30_000, interval: 1_000 }).toEqual([]);
  });

  it("there are as many signatures by operation and verdict as records in the audit log", async () => {
    const counted = await signatures();
    expect(counted).toEqual(await auditRecords());
    expect(counted).toEqual(["creation signed 1", "paymaster signed 1", "transaction signed 1"]);
  });
});

/** Labels whose values say that something went wrong, which nothing has in the demo. */
const OUTCOMES = ["status", "code", "outcome", "verdict"];

/** Returns whether a series has all labels of a selector, with the values that it asks for. */
function isSelected({ name, labels }: Series, { metric, matchers, groups }: Selector): boolean {
  if (name !== metric || !groups.every((label) => Object.hasOwn(labels, label))) return false;
  return matchers.every(({ label, operator, value }) => {
    const own = labels[label];
    if (own === undefined || OUTCOMES.includes(label)) return own !== undefined;
    const fits = operator.includes("~") ? new RegExp(`^(?:${value})$`).test(own) : own === value;
    return operator.startsWith("!") ? !fits : fits;
  });
}

describe("a person who signs up and sends a transaction", () => {
  let token: string;
  beforeAll(async () => {
    const { client } = await signUpPerson(running.stack);
    const network = networkOf(running.stack);
    await sendTransaction(client, { network, cadence: "transaction { prepare(a: &Account) {} }" });
    const forbidden = "transaction { prepare(a: auth(AddKey) &Account) {} }";
    await expect(sendTransaction(client, { network, cadence: forbidden })).rejects.toMatchObject({ status: 403 });
    token = client.credentials!.accessToken;
  }, 60_000);

  it("leaves as many signatures by operation and verdict as the audit log has records", async () => {
    const counted = await signatures();
    expect(counted).toEqual(await auditRecords());
    expect(counted).toContain("transaction ForbiddenEntitlement 1");
  });

  it("is seen as calls of the signing RPCs at both ends of the stream, which itself is no call", async () => {
    const method = "signer.v1.Signing/SignTransaction";
    for (const [process, end] of [
      ["gateway", "client"],
      ["signer", "server"],
    ] as const) {
      const count = `countersign_rpc_${end}_seconds_count`;
      expect(await valueIn(process, count, { method, code: "OK" })).toBe(2);
      expect(await valueIn(process, count, { method, code: "PERMISSION_DENIED" })).toBe(1);
      expect(await valueIn(process, count, { method: "signer.v1.Signing/SignStream" })).toBe(0);
    }
  });

  it("whose stream of events ends leaves no hours among the seconds of requests", async () => {
    const route = "/device/v1/events";
    const abort = new AbortController();
    const response = await fetch(running.stack.gateway + route, {
      headers: { authorization: `Bearer ${token}` },
      signal: abort.signal,
    });
    expect(response.status).toBe(200);
    abort.abort();
    await expect.poll(() => valueIn("gateway", "countersign_http_streams_total", { route })).toBe(1);
    expect(await valueIn("gateway", "countersign_http_request_seconds_count", { route })).toBe(0);
  });

  it("leaves durations of the chain, the provider and the vault", async () => {
    const count = "countersign_outside_call_seconds_count";
    expect(await valueIn("account", count, { port: "chain", method: "submit", outcome: "ok" })).toBeGreaterThan(0);
    expect(await valueIn("auth", count, { port: "provider", outcome: "ok" })).toBeGreaterThan(0);
    expect(await valueIn("signer", count, { port: "vault", method: "sign", outcome: "ok" })).toBeGreaterThan(0);
    expect(await valueIn("account", "countersign_account_creation_seconds_count", { outcome: "sealed" })).toBe(2);
  });

  it("leaves events that were handled, none of them dropped", async () => {
    const count = "countersign_consumer_events_total";
    await expect.poll(() => valueIn("device", count, { outcome: "handled" }), { timeout: 20_000 }).toBeGreaterThan(0);
    for (const process of ["auth", "device", "key", "account"]) {
      expect(await valueIn(process, count, { outcome: "dropped" })).toBe(0);
    }
  });
});

it("every process says its version, its certificate's end and the age of its token state", async () => {
  for (const [name, families] of await all()) {
    const { cert } = tlsFiles(stateDir, name);
    const expiry = new X509Certificate(readFileSync(cert)).validToDate.getTime() / 1_000;
    expect(await valueIn(name, "countersign_certificate_expiry_timestamp_seconds", { certificate: "own" })).toBe(
      expiry,
    );
    expect(await valueIn(name, "countersign_token_state_age_seconds")).toBeLessThan(10);
    expect(families.get("countersign_build_info")!.series).toMatchObject([{ value: 1 }]);
  }
});

it("the replica that watches a chain exports its unfinished work, its lag and the balances that pay", async () => {
  const { chainName: chain } = running.stack.chains[0]!;
  for (const account of ["paymaster", "creator"]) {
    expect(await valueIn("account", "countersign_chain_balance_flow", { chain, account })).toBeGreaterThan(0);
  }
  const account = await metricsOf("account");
  expect(account.get("countersign_chain_height_lag_blocks")!.series).toHaveLength(1);
  expect(account.get("countersign_open_sagas")!.series).toHaveLength(4);
  expect((await metricsOf("auth")).get("countersign_open_sagas")!.series).toHaveLength(2);
});

it("names follow Prometheus' conventions: base units, and _total for counters and nothing else", async () => {
  const wrong = (name: string, { type, help, series }: Family): string[] => {
    const labels = [...new Set(series.flatMap((each) => Object.keys(each.labels)))];
    return [
      !/^countersign(_[a-z0-9]+)+$/.test(name) && "its name has other characters",
      help === "" && "it has no help",
      (type === "counter") !== name.endsWith("_total") && "_total is for counters",
      type === "histogram" && !name.endsWith("_seconds") && "a histogram without its unit",
      /_(count|sum|bucket)$/.test(name) && "the suffix of a histogram's part",
      /_(ms|milliseconds|minutes|hours|days|kb|mb|percent|counter|gauge|histogram)(_|$)/.test(name) && "no base unit",
      labels.some((label) => label !== "le" && !/^[a-z]+(_[a-z]+)*$/.test(label)) && "a label in another case",
    ].filter((each) => each !== false);
  };
  for (const [process, families] of await all()) {
    const own = [...families].filter(([name]) => name.startsWith("countersign_"));
    const found = own.map(([name, family]) => ({ process, name, wrong: wrong(name, family) }));
    expect(found.filter((each) => each.wrong.length > 0)).toEqual([]);
  }
});

it("docs/metrics.md has each metric with its type and labels", async () => {
  const page = readFileSync(join(root, "docs/metrics.md"), "utf8");
  const rows = [...page.matchAll(/^\| `(countersign_\w+)` \| (\w+) \|([^|]*)\|/gm)];
  const documented = new Map(
    rows.map(([, name, type, labels]) => [
      name!,
      { type, labels: [...labels!.matchAll(/`(\w+)`/g)].map(([, l]) => l!) },
    ]),
  );
  for (const [process, families] of await all()) {
    for (const [name, { type, series }] of families) {
      if (!name.startsWith("countersign_")) continue;
      expect({ process, name, type: documented.get(name)?.type }).toEqual({ process, name, type });
      const known = new Set(["service", "le", ...documented.get(name)!.labels]);
      const open = series.flatMap(({ labels }) => Object.keys(labels)).filter((label) => !known.has(label));
      expect({ name, open }).toEqual({ name, open: [] });
    }
  }
});

it("odd methods, paths, headers and bodies add no series", async () => {
  const { hostname, port } = new URL(running.stack.gateway);
  const odd = (method: string, path: string, word: string, body?: object, authorization = `Bearer ${word}`) =>
    new Promise<void>((resolve) => {
      const type = body && { "content-type": "application/json" };
      const headers = { "x-request-id": word, traceparent: word, "user-agent": word, authorization, ...type };
      const outgoing = httpRequest({ hostname, port, method, path, headers, agent: false }, (response) => {
        response.resume().on("close", resolve);
      });
      outgoing.on("error", () => resolve()).end(body && JSON.stringify(body));
    });
  const { client } = await signUpPerson(running.stack);
  const bearer = `Bearer ${client.credentials!.accessToken}`;
  const flood = async (word: string) => {
    for (const method of METHODS.filter((each) => each !== "CONNECT")) await odd(method, `/${word}`, word);
    for (const path of [`/auth/v1/${word}`, `/device/v1/devices/${word}`, `/chain/v1/${word}/v1/blocks`, `/?q=${word}`])
      await odd("GET", path, word);
    const login = { method: "id_token_channel", token: word, provider: word, chainName: word };
    const userKey = { type: "device", publicKey: "11".repeat(64), device: { name: word } };
    await odd("POST", "/auth/v1/signup", word, { ...login, userKey });
    await odd("POST", "/auth/v1/signup", word, { ...login, method: word, userKey });
    const challenge = { challengeType: "deviceKey", request: login, publicKey: "11".repeat(64) };
    await odd("POST", "/auth/v1/signin/challenge", word, challenge);
    for (const operation of ["transaction", "paymaster"]) {
      const message = Buffer.from(word).toString("hex");
      await odd("POST", `/sign/v1/cadence/${operation}`, word, { message, chainName: word }, bearer);
    }
  };
  const series = async () =>
    (await all()).flatMap(([, families]) =>
      seriesIn(families).map(({ name, labels }) => JSON.stringify([name, labels])),
    );
  await flood("first");
  const addedByFloods = async () => {
    const before = new Set(await series());
    for (let round = 0; round < 5; round++) await flood(`odd${Math.random()}`);
    return (await series()).filter((each) => !before.has(each) && !each.includes("nodejs_"));
  };
  // A periodic job of a service may run for the first time meanwhile and add its series, but only once.
  await vi.waitFor(async () => expect(await addedByFloods()).toEqual([]), { timeout: 40_000 });
});
