import type { AppError } from "@countersign/core";

/** One rule: the error that refuses the request, or undefined. Pure: it decides by the loaded facts alone. */
export type Rule<Facts> = (facts: Facts) => AppError | undefined;

/**
 * Throws the error of the first rule that refuses: the order of the list decides which error the caller gets.
 */
export function evaluate<Facts>(rules: readonly Rule<Facts>[], facts: Facts): void {
  for (const rule of rules) {
    const error = rule(facts);
    if (error) throw error;
  }
}
