import { createLogger, createMetrics } from "@countersign/runtime";
import { expect, it } from "vitest";
import { windowsAt } from "./budget.ts";
import { startBudgetMetrics } from "./budget-metrics.ts";

it("exports the use of each budget beside its limit, and which scopes were refused", async () => {
  const metrics = createMetrics("signer");
  const rules = [{ windowSeconds: 60, count: 5, computation: undefined, fees: 200_000_000 }];
  const [window] = windowsAt("app", "a/b", rules, new Date());
  const started = startBudgetMetrics({
    metrics,
    logger: createLogger({ name: "test", level: "silent" }),
    use: async () => [
      { chainName: "c", windowId: window!.id, endsAt: window!.endsAt, count: 2, computation: 7, fees: 50_000_000 },
    ],
    rulesOf: () => rules,
  });
  started.onBudgetExceeded(window!);
  const labels = (amount: string) =>
    `{chain="c",scope="app",whose="a/b",window_seconds="60",amount="${amount}",service="signer"}`;
  await expect.poll(() => metrics.registry.metrics()).toContain(`countersign_signer_budget_used${labels("fees")} 0.5`);
  started.close();
  const text = await metrics.registry.metrics();
  expect(text).toContain(`countersign_signer_budget_used${labels("computation")} 7`);
  expect(text).toContain(`countersign_signer_budget_limit${labels("count")} 5`);
  expect(text).toContain(`countersign_signer_budget_limit${labels("fees")} 2`);
  expect(text).not.toContain(`countersign_signer_budget_limit${labels("computation")}`);
  expect(text).toContain(`countersign_signer_budget_refused_total{scope="app",service="signer"} 1`);
});
