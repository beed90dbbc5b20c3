import type { PublicKey } from "@countersign/keys";
import { type CadenceValue, cadenceBool, cadenceString, encodeCadence } from "../codec/cadence-json.ts";
import type { TransactionPayload } from "../codec/transaction.ts";
import { MAX_COMPUTATION } from "./account-model.ts";
import { ADD_RECOVERY_KEY_SCRIPT } from "./add-recovery-key.ts";
import { ADD_USER_KEY_SCRIPT } from "./add-user-key.ts";
import { REPLACE_RECOVERY_KEY_SCRIPT } from "./replace-recovery-key.ts";
import { REVOKE_RECOVERY_KEY_SCRIPT } from "./revoke-recovery-key.ts";
import { REVOKE_USER_KEY_SCRIPT } from "./revoke-user-key.ts";
import { ROTATE_SERVER_KEY_SCRIPT } from "./rotate-server-key.ts";
import { expectArguments, readKeyArgument, type ScriptCall, TemplateError } from "./template-arguments.ts";

/**
 * A change of keys by a template, with its typed arguments. Server keys are P-256; keys to revoke are named
 * by their bytes, 128 hex digits.
 */
export type KeyChange =
  | { readonly template: "add-user-key"; readonly newKey: PublicKey }
  | { readonly template: "add-recovery-key"; readonly serverKey: string; readonly newKey: PublicKey }
  | {
      readonly template: "replace-recovery-key";
      readonly serverKey: string;
      readonly oldKey: string;
      readonly newKey: PublicKey;
    }
  | { readonly template: "revoke-recovery-key"; readonly serverKey: string; readonly oldKey: string }
  | { readonly template: "revoke-user-key"; readonly oldKey: string }
  | { readonly template: "rotate-server-key"; readonly oldKey: string; readonly newServerKey: string };

/** The name of a template that changes keys. */
export type KeyTemplateName = KeyChange["template"];

type Field = "serverKey" | "oldKey" | "newKey" | "newServerKey";

/**
 * Each template's text, and its arguments in their order; a new key is two of them: its bytes, and whether it
 * is on secp256k1.
 */
const TEMPLATES: Readonly<Record<KeyTemplateName, { readonly script: string; readonly fields: readonly Field[] }>> = {
  "add-user-key": { script: ADD_USER_KEY_SCRIPT, fields: ["newKey"] },
  "add-recovery-key": { script: ADD_RECOVERY_KEY_SCRIPT, fields: ["serverKey", "newKey"] },
  "replace-recovery-key": { script: REPLACE_RECOVERY_KEY_SCRIPT, fields: ["serverKey", "oldKey", "newKey"] },
  "revoke-recovery-key": { script: REVOKE_RECOVERY_KEY_SCRIPT, fields: ["serverKey", "oldKey"] },
  "revoke-user-key": { script: REVOKE_USER_KEY_SCRIPT, fields: ["oldKey"] },
  "rotate-server-key": { script: ROTATE_SERVER_KEY_SCRIPT, fields: ["oldKey", "newServerKey"] },
};

export const KEY_TEMPLATE_NAMES = Object.keys(TEMPLATES) as KeyTemplateName[];

/**
 * Returns the text of a template, to its last byte.
 * @example const script = keyTemplateScript("add-user-key");
 */
export const keyTemplateScript = (name: KeyTemplateName): string => TEMPLATES[name].script;

/**
 * Returns the exact arguments of a change, as values.
 * @example
 * const args = keyChangeArguments({ template: "add-user-key", newKey: deviceKey }).map(encodeCadence);
 */
export function keyChangeArguments(change: KeyChange): CadenceValue[] {
  const { fields } = TEMPLATES[change.template];
  return fields.flatMap((field) => {
    const value = (change as Partial<Record<Field, string | PublicKey>>)[field];
    if (value === undefined) throw new TemplateError(`${field} is missing`);
    if (typeof value === "string") return [cadenceString(value)];
    return [cadenceString(value.publicKey), cadenceBool(value.algorithm === "ES256K")];
  });
}

function newKeyOf(bytes: string, curve: string | undefined): PublicKey {
  for (const algorithm of ["ES256", "ES256K"] as const) {
    if (curve === encodeCadence(cadenceBool(algorithm === "ES256K"))) return { algorithm, publicKey: bytes };
  }
  throw new TemplateError("not the arguments of the template");
}

/**
 * Returns what a transaction changes; undefined where it runs another script. Text and arguments are compared
 * byte for byte with our own, so the shown change is the one that runs. The points of new keys are not
 * checked. Errors: TemplateError.
 * @example
 * const script = keyTemplateScript("add-user-key");
 * readKeyChange({ script, arguments: addUserKeyArguments(deviceKey) })?.template; // => "add-user-key"
 */
export function readKeyChange(payload: ScriptCall): KeyChange | undefined {
  const name = KEY_TEMPLATE_NAMES.find((each) => TEMPLATES[each].script === payload.script);
  if (name === undefined) return undefined;
  const left = [...payload.arguments];
  const values: Partial<Record<Field, string | PublicKey>> = {};
  for (const field of TEMPLATES[name].fields) {
    const bytes = readKeyArgument(left.shift());
    values[field] = field === "newKey" ? newKeyOf(bytes, left.shift()) : bytes;
  }
  const change = { template: name, ...values } as KeyChange;
  expectArguments(payload, keyChangeArguments(change));
  return change;
}

/**
 * Returns the exact arguments of the transaction that adds `userKey`.
 * @example
 * const payload = { script: keyTemplateScript("add-user-key"), arguments: addUserKeyArguments(deviceKey) };
 */
export const addUserKeyArguments = (userKey: PublicKey): string[] =>
  keyChangeArguments({ template: "add-user-key", newKey: userKey }).map(encodeCadence);

/**
 * Returns a payload of the template; the caller names proposer and payer.
 * @example
 * const { referenceBlockId, proposalKey, payer } = transaction;
 * const payload = addUserKeyPayload(deviceKey, { account: address, referenceBlockId, proposalKey, payer });
 */
export const addUserKeyPayload = (
  userKey: PublicKey,
  { account, ...chosen }: Pick<TransactionPayload, "referenceBlockId" | "proposalKey" | "payer"> & { account: string },
): TransactionPayload => ({
  ...chosen,
  script: ADD_USER_KEY_SCRIPT,
  arguments: addUserKeyArguments(userKey),
  // Every key that an account ever had makes it dearer.
  gasLimit: MAX_COMPUTATION,
  authorizers: [account],
});

/**
 * Returns the user key that a transaction adds; undefined for any other script. Errors: TemplateError.
 * @example readAddUserKey(transaction); // => undefined
 */
export function readAddUserKey(payload: ScriptCall): PublicKey | undefined {
  if (payload.script !== ADD_USER_KEY_SCRIPT) return undefined;
  const change = readKeyChange(payload);
  return change?.template === "add-user-key" ? change.newKey : undefined;
}
