import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { parse } from "yaml";
import { ALERT_TESTS, ALERTS, dashboards, queries, rules } from "../support/monitoring.ts";
import { EVERYTHING, render } from "./render.ts";

const directory = mkdtempSync(join(tmpdir(), "countersign-rules-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Runs promtool; returns what it prints. Errors: what it found. */
function promtool(...args: string[]): string {
  const program = process.env.CS_PROMTOOL;
  if (!program) throw new Error("CS_PROMTOOL is not set: run `npm run check:deploy`");
  return execFileSync(program, args, { encoding: "utf8", stdio: "pipe" });
}

interface RuleTest {
  readonly alertname: string;
  readonly exp_alerts: readonly object[];
}

it("the rules pass their tests", { timeout: 120_000 }, () => {
  expect(promtool("check", "rules", "--lint=all", "--lint-fatal", ALERTS)).toContain("SUCCESS");
  expect(promtool("test", "rules", ALERT_TESTS)).toContain("SUCCESS");
});

it("every alert fires in a test and stays silent in another", () => {
  const { tests } = parse(readFileSync(ALERT_TESTS, "utf8")) as { tests: { alert_rule_test: RuleTest[] }[] };
  const all = tests.flatMap(({ alert_rule_test }) => alert_rule_test);
  const alerts = rules().flatMap(({ alert }) => alert ?? []);
  const tested = (fires: boolean) =>
    new Set(all.filter(({ exp_alerts }) => exp_alerts.length > 0 === fires).map(({ alertname }) => alertname));
  expect(alerts.length).toBeGreaterThan(10);
  expect(alerts.filter((alert) => !tested(true).has(alert))).toEqual([]);
  expect(alerts.filter((alert) => !tested(false).has(alert))).toEqual([]);
});

it("the tests notice an alert that never fires, and one that always does", { timeout: 120_000 }, () => {
  const file = join(directory, "alerts.test.yaml");
  const changed = readFileSync(ALERTS, "utf8")
    .replace("countersign_token_state_age_seconds > 5", "countersign_token_state_age_seconds > 50")
    .replace("(countersign_chain_balance_flow) < 50", "(countersign_chain_balance_flow) < 5000");
  writeFileSync(join(directory, "alerts.yaml"), changed);
  copyFileSync(ALERT_TESTS, file);
  const { stderr } = spawnSync(process.env.CS_PROMTOOL!, ["test", "rules", file], { encoding: "utf8" });
  expect([...new Set(stderr.match(/alertname: \w+/g))].sort()).toEqual([
    "alertname: CountersignBalanceLow",
    "alertname: CountersignTokenStateOld",
  ]);
});

it("Prometheus parses every query of dashboards and runbooks", () => {
  const file = join(directory, "queries.yaml");
  const check = (exprs: readonly string[]) => {
    const named = exprs.map((expr, index) => ({ record: `query:${index}`, expr }));
    writeFileSync(file, JSON.stringify({ groups: [{ name: "queries", rules: named }] }));
    return promtool("check", "rules", "--lint=none", file);
  };
  const exprs = queries().map(({ expr }) => expr);
  expect(check(exprs)).toContain(`${exprs.length} rules found`);
  expect(() => check([...exprs, "sum by (a (b)"])).toThrow();
});

it("dashboards have panels that do not overlap, and ids that are not used twice", () => {
  const all = [...dashboards().values()];
  expect(new Set(all.map(({ uid }) => uid)).size).toBe(all.length);
  for (const { title, panels } of all) {
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)} ${y + Math.floor(i / w)}`),
    );
    expect({ title, overlap: cells.length - new Set(cells).size }).toEqual({ title, overlap: 0 });
    expect(panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  }
});

it("Prometheus' operator keeps the processes' labels: its own `endpoint` would take the place of a webhook's", () => {
  const monitor = render(EVERYTHING).find(({ kind }) => kind === "PodMonitor");
  expect(monitor!.spec.podMetricsEndpoints).toEqual([{ port: "admin", path: "/metrics", honorLabels: true }]);
});

it("the chart installs the rules and dashboards as they are, where it is asked to", () => {
  const objectsWith = (values: Record<string, unknown>) => {
    const all = render(values);
    const rule = all.find(({ kind }) => kind === "PrometheusRule");
    const boards = all.find(({ kind, metadata }) => kind === "ConfigMap" && metadata.name.endsWith("-dashboards"));
    return { rule, boards };
  };
  expect(objectsWith({})).toEqual({ rule: undefined, boards: undefined });
  const { rule, boards } = objectsWith(EVERYTHING);
  expect(rule!.metadata.labels).toMatchObject({ release: "prometheus" });
  expect(rule!.spec).toEqual(parse(readFileSync(ALERTS, "utf8")));
  expect(boards!.metadata.labels).toMatchObject({ grafana_dashboard: "1" });
  const shipped = [...dashboards()].map(([file, board]) => [`countersign-${file}`, board]);
  const installed = Object.entries<string>(boards!.data).map(([file, text]) => [file, JSON.parse(text)]);
  expect(Object.fromEntries(installed)).toEqual(Object.fromEntries(shipped));
});
