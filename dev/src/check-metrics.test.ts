import { root } from "@countersign/build/paths.ts";
import { expect, it } from "vitest";
import { checkMetrics, checkRules, createdMetrics, dashboardQueries, documentedMetrics } from "./check-metrics.ts";

it("finds metrics in code and in the page", () => {
  const source = 'new Counter({\n  name: "countersign_a_total" });\ncalls("countersign_b_seconds", "B")';
  expect(createdMetrics(source)).toEqual(["countersign_a_total", "countersign_b_seconds"]);
  expect(documentedMetrics("| `countersign_a_total` | counter | | A. |\n`countersign_b`")).toEqual([
    "countersign_a_total",
  ]);
});

it("finds rules for metrics that nobody has, and alerts without a runbook", () => {
  const runbook_url = "docs/runbooks/queue-old.md";
  const rules = [
    { record: "countersign:a:rate5m", expr: "rate(countersign_a_seconds_bucket[5m])" },
    { alert: "CountersignQueueOld", expr: "countersign:a:rate5m > 1", annotations: { runbook_url } },
  ];
  expect(checkRules(rules, ["countersign_a_seconds"], [runbook_url])).toEqual([]);
  expect(checkRules(rules, [], [])).toEqual([
    "countersign:a:rate5m: no metric is called countersign_a_seconds_bucket",
    "docs/runbooks/queue-old.md is missing",
  ]);
});

it("finds queries of dashboards for metrics that nobody has", () => {
  const panels = [
    { title: "Row" },
    { title: "Queue", targets: [{ expr: "countersign_a" }, { expr: "countersign_b" }] },
  ];
  const queries = dashboardQueries("d.json", JSON.stringify({ panels }));
  expect(checkRules(queries, ["countersign_a"], [])).toEqual(["d.json, Queue: no metric is called countersign_b"]);
});

it("docs/metrics.md has every metric of the code, and no other", () => {
  expect(checkMetrics(root)).toEqual([]);
});
