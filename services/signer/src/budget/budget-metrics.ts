import type { Logger } from "@countersign/core";
import { type Metrics, startPeriodicJob } from "@countersign/runtime";
import { Counter, Gauge } from "prom-client";
import { BUDGET_SCOPES, type BudgetUse, type BudgetWindow, readWindowId } from "./budget.ts";
import { type BudgetRule, UNITS_PER_FLOW } from "./budget-rules.ts";

export interface BudgetMetricsOptions {
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Of all budgets but the accounts' own. */
  use(): Promise<readonly BudgetUse[]>;
  /** The rules of a scope at the moment. */
  rulesOf(scope: string, whose: string): readonly BudgetRule[];
}

const LABELS = ["chain", "scope", "whose", "window_seconds", "amount"] as const;
const INTERVAL_MS = 10_000;

/**
 * Exports how much of the budgets of apps, backends and the service is used, and which scopes refused
 * signatures.
 */
export function startBudgetMetrics({ metrics, logger, use, rulesOf }: BudgetMetricsOptions) {
  const registers = [metrics.registry];
  const refused = new Counter({
    name: "countersign_signer_budget_refused_total",
    help: "Signatures that a budget has refused",
    labelNames: ["scope"] as const,
    registers,
  });
  // A rate sees the first refusal only if the series was there before.
  for (const scope of BUDGET_SCOPES) refused.inc({ scope }, 0);
  const used = new Gauge({
    name: "countersign_signer_budget_used",
    help: "Reserved and used of a budget in its window; fees in FLOW",
    labelNames: LABELS,
    registers,
  });
  const limit = new Gauge({
    name: "countersign_signer_budget_limit",
    help: "Limit of a budget in its window; fees in FLOW",
    labelNames: LABELS,
    registers,
  });

  const underestimated = new Counter({
    name: "countersign_signer_budget_underestimated_total",
    help: "Transactions that used more than was reserved for them: the policy's prices are too low",
    registers,
  });

  async function refresh(): Promise<void> {
    const all = await use();
    used.reset();
    limit.reset();
    for (const { chainName, windowId, ...amounts } of all) {
      const { scope, whose, windowSeconds } = readWindowId(windowId);
      const rule = rulesOf(scope, whose).find((each) => each.windowSeconds === windowSeconds);
      for (const amount of ["count", "computation", "fees"] as const) {
        const labels = { chain: chainName, scope, whose, window_seconds: windowSeconds, amount };
        const unit = amount === "fees" ? UNITS_PER_FLOW : 1;
        used.set(labels, amounts[amount] / unit);
        if (rule?.[amount] !== undefined) limit.set(labels, rule[amount] / unit);
      }
    }
  }
  const refreshing = startPeriodicJob({ job: "budget metrics", intervalMs: INTERVAL_MS, logger, run: refresh });

  return {
    onBudgetExceeded: (window: BudgetWindow) => refused.inc({ scope: readWindowId(window.id).scope }),
    onUnderestimated: (count: number) => underestimated.inc(count),
    close: () => refreshing.close(),
  };
}
