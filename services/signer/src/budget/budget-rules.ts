import { z } from "zod";

/** One FLOW in the chain's smallest units. */
export const UNITS_PER_FLOW = 1e8;
/** Converts an amount in FLOW, as files write it, to 10⁻⁸ FLOW. */
export const flowUnits = (flow: number): number => Math.round(flow * UNITS_PER_FLOW);

const amount = z.int().nonnegative();

/** Windows of this length follow each other from 1970 on. */
const windowSeconds = z
  .int()
  .min(1)
  .max(31 * 86_400);

const budgetRule = z
  .strictObject({
    windowSeconds,
    /** Transactions. */
    count: amount.max(1e12).optional(),
    /** Units of computation, as gas limits are. */
    computation: amount.max(1e15).optional(),
    feesFlow: z.number().nonnegative().max(1e7).optional(),
  })
  .refine(
    ({ count, computation, feesFlow }) => (count ?? computation ?? feesFlow) !== undefined,
    "limits nothing: count, computation or feesFlow is needed",
  )
  .transform(({ feesFlow, ...rule }) => ({
    ...rule,
    fees: feesFlow === undefined ? undefined : flowUnits(feesFlow),
  }));

/** The most that may be used in a window. `fees` in 10⁻⁸ FLOW; an absent member has no limit. */
export type BudgetRule = z.output<typeof budgetRule>;

const TWICE = { message: "two budgets for one windowSeconds" };
const areApart = (rules: readonly Pick<BudgetRule, "windowSeconds">[]) =>
  new Set(rules.map(({ windowSeconds }) => windowSeconds)).size === rules.length;

/** The budgets of one kind; an empty list means no limit. */
export const budgetRules = z.array(budgetRule).max(4).refine(areApart, TWICE);

/** Budgets that limit the count only. */
export const countRules = z
  .array(
    z
      .strictObject({ windowSeconds, count: amount.max(1e12) })
      .transform((rule): BudgetRule => ({ ...rule, fees: undefined })),
  )
  .max(4)
  .refine(areApart, TWICE);
