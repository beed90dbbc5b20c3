import { at, type ScriptRule } from "./rule.ts";

/** `strict`: no lasting rights, also not over the user's own assets: a marketplace that is broken into could use them. Neither made here nor found. */
export const noEntitledCapability: ScriptRule = ({ storageCalls, types }, { policy }) => {
  if (policy.mode !== "strict") return undefined;
  const call = storageCalls.find(({ method, type }) => method === "issue" && (type?.entitlements.length ?? 0) > 0);
  const place = call ?? types.find(({ kind }) => kind === "entitled-capability");
  return place && { reason: "EntitledCapability", detail: `a capability with rights${at(place)}` };
};
