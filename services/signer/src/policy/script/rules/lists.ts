import { at, contractId, type ScriptRule } from "./rule.ts";

/**
 * Contracts that the operator forbids, for example because they steal. An import of everything at their
 * address may bring them.
 */
export const noDeniedContract: ScriptRule = ({ imports }, { policy }) => {
  const { denied } = policy.contracts;
  if (denied.size === 0) return undefined;
  const addresses = new Set([...denied].map((id) => id.split(".")[1]));
  const found = imports.find(
    (each) => denied.has(contractId(each)) || (each.name === "" && addresses.has(each.address)),
  );
  return found && { reason: "DeniedContract", detail: `${contractId(found)} is on the deny list${at(found)}` };
};
