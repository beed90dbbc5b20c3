import { UsageError } from "@countersign/runtime/command.ts";

/** Returns the number of an argument. Error: UsageError where it is not a whole number above 0. */
export function amountOf(usage: string, text: string, unit: string): number {
  const amount = Number(text);
  if (amount > 0 && Number.isSafeInteger(amount)) return amount;
  throw new UsageError(`citus -- ${usage}`, `${usage.split(" ")[0]}: \`${text}\` is no number of ${unit}`);
}
