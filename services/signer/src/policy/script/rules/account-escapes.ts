import { at, contractId, type ScriptRule } from "./rule.ts";

const where = {
  argument: "is given to",
  value: "is used as a value",
  closure: "is used inside of a function",
  controller: "gives a capability controller away",
} as const;

/**
 * An imported contract that gets the account can do what the script does not show, now and in a closure that
 * it keeps. So the account is only ever the receiver of a direct call. Contracts on the allow list may get
 * it.
 */
export const accountStays: ScriptRule = ({ accountUses }, { policy }) => {
  for (const use of accountUses) {
    const to = contractId({ address: use.address, name: use.contract });
    if (use.how === "argument" && policy.contracts.mayGetAccount.has(to)) continue;
    return {
      reason: "AccountEscapes",
      detail: `the account ${where[use.how]}${use.how === "argument" ? ` ${to}` : ""}${at(use)}`,
    };
  }
  return undefined;
};
