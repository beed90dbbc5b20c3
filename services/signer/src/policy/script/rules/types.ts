import { at, type ScriptRule } from "./rule.ts";

const why = {
  "account-entitlement": "an account with rights, in a type",
  "account-part": "a part of an account, in a type",
  "account-capability": "a capability of an account",
  "owned-account": "HybridCustody's owned account: giveOwnership revokes every key",
  "coa-capability": "a lasting right over the Cadence-owned account",
} as const;

/**
 * A cast, a type argument, a field or a function type can get in another way what prepare does not ask for.
 */
export const noAccountInTypes: ScriptRule = ({ types }) => {
  for (const use of types) {
    if (use.kind === "entitled-capability") continue;
    return { reason: "ForbiddenType", detail: `${why[use.kind]}: ${use.name}${at(use)}` };
  }
  return undefined;
};
