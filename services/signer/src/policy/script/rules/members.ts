import { at, type ScriptRule } from "./rule.ts";

/** Keys, contracts, inbox, account capabilities and new accounts are touched by no free script, whatever rights it has; nor is what hides which type it takes. */
export const noRulingMember: ScriptRule = ({ members: [member] }) =>
  member && { reason: "ForbiddenMember", detail: `.${member.name}${at(member)}`.replace(".Account(", "Account(") };
