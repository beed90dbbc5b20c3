import { FREE_ENTITLEMENTS } from "../facts/language.ts";
import { at, type ScriptRule } from "./rule.ts";

/**
 * Keys, contracts, account capabilities and inbox publishing are how an account is taken over: with a key of weight 1000, with a contract that acts for it, with a capability
 * of the whole account. Only rights over storage are free; what is unknown is not.
 */
export const freeEntitlementsOnly: ScriptRule = ({ prepare }) => {
  for (const parameter of prepare) {
    const forbidden = parameter.entitlements.find((each) => !FREE_ENTITLEMENTS.has(each));
    if (forbidden) {
      return { reason: "ForbiddenEntitlement", detail: `auth(${forbidden}) of ${parameter.name}${at(parameter)}` };
    }
  }
  return undefined;
};
