import { type CadenceValue, encodeCadence } from "../codec/cadence-json.ts";
import type { TransactionPayload } from "../codec/transaction.ts";

/** The part of a transaction that says what it runs. */
export type ScriptCall = Pick<TransactionPayload, "script" | "arguments">;

/**
 * Thrown when the transaction runs the template with invalid arguments, or does more than the template.
 * @example
 * const templateOf = (payload: TransactionPayload) => {
 *   try {
 *     return readTemplate(payload, undefined)?.template ?? "a custom script";
 *   } catch (error) {
 *     if (error instanceof TemplateError) return "a template with more than its own";
 *     throw error;
 *   }
 * };
 */
export class TemplateError extends Error {
  override readonly name = "TemplateError";
}

const notTheArguments = () => new TemplateError("not the arguments of the template");

const reader = (form: RegExp) => (argument: string | undefined) => {
  const text = form.exec(argument ?? "")?.[1];
  if (text === undefined) throw notTheArguments();
  return text;
};

/** Reads a key's bytes from an argument: 128 hex digits. Errors: TemplateError. */
export const readKeyArgument = reader(/^\{"type":"String","value":"([0-9a-f]{128})"\}$/);

/** Reads an address from an argument: 16 hex digits. Errors: TemplateError. */
export const readAddressArgument = reader(/^\{"type":"Address","value":"0x([0-9a-f]{16})"\}$/);

/**
 * Compares the arguments byte for byte with our own, so what a person is shown is what runs. Errors:
 * TemplateError, with `difference` where there are as many of them.
 */
export function expectArguments(
  { arguments: given }: ScriptCall,
  ours: readonly CadenceValue[],
  difference = "not the arguments of the template",
): void {
  if (given.length !== ours.length) throw notTheArguments();
  if (!ours.every((value, i) => encodeCadence(value) === given[i])) throw new TemplateError(difference);
}
