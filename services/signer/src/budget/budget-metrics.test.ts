import { createLogger, createMetrics } from "@countersign/runtime";
import { expect, it } from "vitest";
import { windowsAt } from "./budget.ts";
import { startBudgetMetrics } from "./budget-metrics.ts";

it("tells what is used of each budget beside its limit, and who was refused", async () => {
  const metrics = createMetrics("signer");
  const rules = [{ windowSeconds: 60, count: 5, computation: undefined, fees: 200_000_000 }];
  const [window] = windowsAt("app", "a/b", rules, new Date());
  const told = startBudgetMetrics({
    metrics,
    logger: createLogger({ name: "test", level: "silent" }),
    use: async () => [{ chainName: "c", windowId: window!.id, count: 2, computation: 7, fees: 50_000_000 }],
    rulesOf: () => rules,
  });
  told.onBudgetExceeded(window!);
  const labels = (amount: string) =>
    `{chain="c",scope="app",whose="a/b",window_seconds="60",amount="${amount}",service="signer"}`;
  await expect.poll(() => metrics.registry.metrics()).toContain(`countersign_signer_budget_used${labels("fees")} 0.5`);
  told.close();
  const text = await metrics.registry.metrics();
  expect(text).toContain(`countersign_signer_budget_used${labels("computation")} 7`);
  expect(text).toContain(`countersign_signer_budget_limit${labels("count")} 5`);
  expect(text).toContain(`countersign_signer_budget_limit${labels("fees")} 2`);
  expect(text).not.toContain(`countersign_signer_budget_limit${labels("computation")}`);
  expect(text).toContain(`countersign_signer_budget_refused_total{scope="app",service="signer"} 1`);
});
