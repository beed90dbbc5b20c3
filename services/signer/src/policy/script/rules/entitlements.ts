import { ALLOWED_ENTITLEMENTS } from "../facts/language.ts";
import { at, type ScriptRule } from "./rule.ts";

/**
 * Keys, contracts, account capabilities and inbox publishing are ways to take an account over: with a key of
 * weight 1000, a contract that acts for it, or a capability of the whole account. Only entitlements over
 * storage are allowed; unknown ones are not.
 */
export const allowedEntitlementsOnly: ScriptRule = ({ prepare }) => {
  for (const parameter of prepare) {
    const forbidden = parameter.entitlements.find((each) => !ALLOWED_ENTITLEMENTS.has(each));
    if (forbidden) {
      return { reason: "ForbiddenEntitlement", detail: `auth(${forbidden}) of ${parameter.name}${at(parameter)}` };
    }
  }
  return undefined;
};
