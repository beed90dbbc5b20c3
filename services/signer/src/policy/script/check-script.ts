import { refuse } from "../refusal.ts";
import { accountStays } from "./rules/account-escapes.ts";
import { freeEntitlementsOnly } from "./rules/entitlements.ts";
import { noDeniedContract } from "./rules/lists.ts";
import { noRulingMember } from "./rules/members.ts";
import type { ScriptContext, ScriptPolicy, ScriptRule, Violation } from "./rules/rule.ts";
import { cadenceOwnedAccountStays, pathsAreLiteral, typesAreConcrete } from "./rules/storage-calls.ts";
import { noEntitledCapability } from "./rules/strict.ts";
import { noAccountInTypes } from "./rules/types.ts";
import { asManyAccounts, noShadows, oneTransaction, understood } from "./rules/understood.ts";
import type { ScriptFacts } from "./script-facts.ts";

/** The rules of a free script, in the order in which they speak: the first one's reason is the answer. */
export const SCRIPT_RULES: readonly ScriptRule[] = [
  understood,
  oneTransaction,
  asManyAccounts,
  noShadows,
  noDeniedContract,
  freeEntitlementsOnly,
  noRulingMember,
  noAccountInTypes,
  cadenceOwnedAccountStays,
  typesAreConcrete,
  accountStays,
  pathsAreLiteral,
  noEntitledCapability,
];

/** The first rule that forbids the script, or nothing. */
export function violationOf(facts: ScriptFacts, context: ScriptContext): Violation | undefined {
  for (const rule of SCRIPT_RULES) {
    const violation = rule(facts, context);
    if (violation) return violation;
  }
  return undefined;
}

/** What the lists say about a script before anybody reads it: whether it needs reading. Errors: SigningRefused. */
export function mustBeRead(scriptHash: string, { mode, scripts }: ScriptPolicy): boolean {
  if (scripts.denied.has(scriptHash)) refuse("DeniedScript", "the script is on the deny list");
  if (scripts.allowed.has(scriptHash)) return false;
  if (mode === "templates") refuse("ScriptNotListed", "only templates and listed scripts are signed");
  return true;
}

/** Errors: SigningRefused with the rule's reason. */
export function checkScript(facts: ScriptFacts, context: ScriptContext): void {
  const violation = violationOf(facts, context);
  if (violation) refuse(violation.reason, violation.detail);
}
