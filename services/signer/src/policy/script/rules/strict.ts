import { at, type ScriptRule } from "./rule.ts";

/**
 * `strict`: no lasting rights, neither made nor found, not even over the user's own assets: a compromised
 * marketplace could use them.
 */
export const noEntitledCapability: ScriptRule = ({ storageCalls, types }, { policy }) => {
  if (policy.mode !== "strict") return undefined;
  const call = storageCalls.find(({ method, type }) => method === "issue" && (type?.entitlements.length ?? 0) > 0);
  const place = call ?? types.find(({ kind }) => kind === "entitled-capability");
  return place && { reason: "EntitledCapability", detail: `a capability with rights${at(place)}` };
};
