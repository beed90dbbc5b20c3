import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createMetrics, createOutsideCalls } from "./metrics.ts";
import { createReadGauge } from "./read-gauge.ts";
import { exportTokenStateAge } from "./token-state-metrics.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const newMetrics = () => createMetrics("test", { defaults: false });

it("names the version that runs", async () => {
  const text = await newMetrics().registry.metrics();
  expect(text).toMatch(/^countersign_build_info\{version="\d+\.\d+\.\d+",service="test"\} 1$/m);
});

it("exports a value that was read for a minute, and then nothing instead of an old one", async () => {
  const metrics = newMetrics();
  const set = createReadGauge(metrics, { name: "open", help: "Open", labelNames: ["chain"] });
  set([
    { chain: "a", value: 1 },
    { chain: "b", value: 2 },
  ]);
  vi.advanceTimersByTime(50_000);
  set([{ chain: "b", value: 3 }]);
  const lines = async () => (await metrics.registry.metrics()).split("\n").filter((line) => line.startsWith("open"));
  expect(await lines()).toEqual(['open{chain="a",service="test"} 1', 'open{chain="b",service="test"} 3']);
  vi.advanceTimersByTime(20_000);
  expect(await lines()).toEqual(['open{chain="b",service="test"} 3']);
});

it("a token state that never arrived is infinitely old", async () => {
  const metrics = newMetrics();
  exportTokenStateAge(metrics, { ageMs: () => Number.POSITIVE_INFINITY });
  expect(await metrics.registry.metrics()).toContain('countersign_token_state_age_seconds{service="test"} +Inf');
});

it("counts calls to the outside by method and outcome; a method that was not called has no series", async () => {
  const metrics = newMetrics();
  const record = createOutsideCalls(metrics);
  record("chain", "submit")(0.2, false);
  record("chain", "submit")(3, true);
  record("chain", "balance");
  const text = await metrics.registry.metrics();
  const counts = text.split("\n").filter((line) => line.startsWith("countersign_outside_call_seconds_count"));
  expect(counts).toEqual([
    'countersign_outside_call_seconds_count{service="test",port="chain",method="submit",outcome="ok"} 1',
    'countersign_outside_call_seconds_count{service="test",port="chain",method="submit",outcome="failed"} 1',
  ]);
});
