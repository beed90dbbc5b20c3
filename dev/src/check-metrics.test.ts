import { root } from "@countersign/build/paths.ts";
import { expect, it } from "vitest";
import { checkMetrics, createdMetrics, documentedMetrics } from "./check-metrics.ts";

it("finds metrics in code and in the page", () => {
  const source = 'new Counter({\n  name: "countersign_a_total" });\ncalls("countersign_b_seconds", "B")';
  expect(createdMetrics(source)).toEqual(["countersign_a_total", "countersign_b_seconds"]);
  expect(documentedMetrics("| `countersign_a_total` | counter | | A. |\n`countersign_b`")).toEqual([
    "countersign_a_total",
  ]);
});

it("docs/metrics.md has every metric of the code, and no other", () => {
  expect(checkMetrics(root)).toEqual([]);
});
