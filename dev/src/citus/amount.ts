import { Failure } from "@countersign/build/fail.ts";

/** Returns the number of an argument. Errors: Failure where it is none above 0. */
export function amountOf(text: string, unit: string): number {
  const amount = Number(text);
  if (amount > 0 && Number.isFinite(amount)) return amount;
  throw new Failure(`${text} is no number of ${unit}.`);
}
