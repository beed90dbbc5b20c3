import { at, type ScriptRule } from "./rule.ts";

/**
 * Rejects keys, contracts, inbox, account capabilities and new accounts, with any entitlement, and members
 * that hide which type they take.
 */
export const forbidPrivilegedMembers: ScriptRule = ({ members: [member] }) =>
  member && { reason: "ForbiddenMember", detail: `.${member.name}${at(member)}`.replace(".Account(", "Account(") };
