import { at, contractId, type ScriptRule } from "./rule.ts";

const isOfEvm = (name: string) => name.startsWith("EVM.");
const isCadenceOwnedAccount = (name: string) => name === "EVM.CadenceOwnedAccount";

/**
 * Requires that the script alone shows the types that it takes out of storage: AnyResource or a bare
 * Capability can be anything, also an account.
 */
export const typesAreConcrete: ScriptRule = ({ storageCalls }) => {
  for (const call of storageCalls) {
    const { method, type } = call;
    if (method === "retarget") continue;
    const bad = (detail: string) => ({ reason: "ForbiddenType" as const, detail: `${method} ${detail}${at(call)}` });
    if (!type) return bad("names no type");
    if (type.vague !== "") return bad(`of ${type.vague}, which may be anything`);
    // A reference keeps its entitlements, whichever type is behind the interface; a value brings all that it
    // has.
    if (type.interfaces && !type.isReference) return bad("of an interface, which may be anything");
  }
  return undefined;
};

/**
 * The path must be in the script: one that is computed, or that a contract names, can change. Contracts on
 * the list may name theirs.
 */
export const pathsAreLiteral: ScriptRule = ({ storageCalls }, { policy }) => {
  for (const { method, path, at: place } of storageCalls) {
    if (path.kind === "literal") continue;
    const named = path.kind === "contract" ? contractId({ address: path.address, name: path.contract }) : undefined;
    if (named !== undefined && policy.contracts.mayNamePaths.has(named)) continue;
    const detail = `${method} at a path that ${named ? `${named} names` : "is computed"} (${place})`;
    return { reason: "ForbiddenPath", detail };
  }
  return undefined;
};

/**
 * The Cadence-owned account is the user's EVM address: it may be borrowed for calls, but not taken out, and
 * no lasting right over it is given away.
 */
export const cadenceOwnedAccountStays: ScriptRule = ({ storageCalls }) => {
  for (const call of storageCalls) {
    const { method, type } = call;
    const owned = type?.names.some(isCadenceOwnedAccount);
    const taken = (method === "load" || method === "copy") && owned;
    const entitled = type?.entitlements.some(isOfEvm) || (owned && (type?.entitlements.length ?? 0) > 0);
    if (taken || (method === "issue" && entitled))
      return { reason: "ForbiddenType", detail: `${method} of the Cadence-owned account${at(call)}` };
  }
  return undefined;
};
