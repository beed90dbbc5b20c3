import type { RefusalReason } from "../refusal.ts";
import { ALLOWED_ENTITLEMENTS, isCadenceOwnedAccount, isOfEvm } from "./facts/language.ts";
import type { ScriptFacts } from "./script-facts.ts";

/** The part of a policy file about scripts. */
export interface ScriptPolicy {
  /** `strict`: no entitled capabilities either. `templates`: templates and listed scripts only. */
  readonly mode: "standard" | "strict" | "templates";
  /** Contracts as "A.<16 hex digits>.<name>". */
  readonly contracts: {
    readonly mayGetAccount: ReadonlySet<string>;
    readonly mayNamePaths: ReadonlySet<string>;
    readonly denied: ReadonlySet<string>;
  };
  /** SHA-256 of scripts, hex. */
  readonly scripts: { readonly allowed: ReadonlySet<string>; readonly denied: ReadonlySet<string> };
}

interface ScriptContext {
  readonly policy: ScriptPolicy;
  /** How many accounts the message authorizes with. */
  readonly authorizers: number;
}

interface Violation {
  readonly reason: RefusalReason;
  /** For people, with the place in the script. */
  readonly detail: string;
}

/** One rule: returns its objection to the script, if any. Pure and cheap: it runs for every signature. */
type ScriptRule = (facts: ScriptFacts, context: ScriptContext) => Violation | undefined;

/** Returns " (line:column)" of a place in the script. */
const at = (place: { readonly at: string } | undefined): string => (place?.at ? ` (${place.at})` : "");

const contractId = ({ address, name }: { address: string; name: string }): string => `A.${address}.${name}`;

const notUnderstood = (detail: string) => ({ reason: "ScriptNotUnderstood" as const, detail });

/** Rejects what Cadence's own parser does not accept, and what is too long, too deep or too slow for it. */
const understood: ScriptRule = ({ problem }) => (problem === "" ? undefined : notUnderstood(problem));

/** One transaction and its imports: other declarations have no meaning there today, and may get one. */
const oneTransaction: ScriptRule = ({ declarations }) => {
  const other = declarations.find(({ kind }) => !["TransactionDeclaration", "ImportDeclaration"].includes(kind));
  if (other) return notUnderstood(`the script declares more than a transaction: ${other.kind}${at(other)}`);
  const transactions = declarations.filter(({ kind }) => kind === "TransactionDeclaration");
  return transactions.length === 1 ? undefined : notUnderstood(`the script has ${transactions.length} transactions`);
};

/**
 * As many account parameters as authorizers: which account a script gets must not depend on how lenient the
 * chain is.
 */
const accountCountMatchesAuthorizers: ScriptRule = ({ prepare }, { authorizers }) => {
  const other = prepare.find(({ isAccount }) => !isAccount);
  if (other) return notUnderstood(`${other.name} is not a reference to Account${at(other)}`);
  return prepare.length === authorizers
    ? undefined
    : notUnderstood(`prepare has ${prepare.length} parameters for ${authorizers} authorizers`);
};

/** The other rules identify accounts, contracts and entitlements by name: no name may have two meanings. */
const noShadows: ScriptRule = ({ shadows: [shadow] }) =>
  shadow && notUnderstood(`a name with two meanings: ${shadow.name}${at(shadow)}`);

/**
 * Contracts that the operator forbids, for example because they steal. An import of everything at their
 * address may bring them.
 */
const noDeniedContract: ScriptRule = ({ imports }, { policy }) => {
  const { denied } = policy.contracts;
  if (denied.size === 0) return undefined;
  const addresses = new Set([...denied].map((id) => id.split(".")[1]));
  const found = imports.find(
    (each) => denied.has(contractId(each)) || (each.name === "" && addresses.has(each.address)),
  );
  return found && { reason: "DeniedContract", detail: `${contractId(found)} is on the deny list${at(found)}` };
};

/**
 * Keys, contracts, account capabilities and inbox publishing are ways to take an account over: with a key of
 * weight 1000, a contract that acts for it, or a capability of the whole account. Only entitlements over
 * storage are allowed; unknown ones are not.
 */
const allowedEntitlementsOnly: ScriptRule = ({ prepare }) => {
  for (const parameter of prepare) {
    const forbidden = parameter.entitlements.find((each) => !ALLOWED_ENTITLEMENTS.has(each));
    if (forbidden) {
      return { reason: "ForbiddenEntitlement", detail: `auth(${forbidden}) of ${parameter.name}${at(parameter)}` };
    }
  }
  return undefined;
};

/**
 * Rejects keys, contracts, inbox, account capabilities and new accounts, with any entitlement, and members
 * that hide which type they take.
 */
const forbidPrivilegedMembers: ScriptRule = ({ members: [member] }) =>
  member && { reason: "ForbiddenMember", detail: `.${member.name}${at(member)}`.replace(".Account(", "Account(") };

const ACCOUNTS_IN_TYPES = {
  "account-entitlement": "an account with rights, in a type",
  "account-part": "a part of an account, in a type",
  "account-capability": "a capability of an account",
  "owned-account": "HybridCustody's owned account: giveOwnership revokes every key",
  "coa-capability": "a lasting right over the Cadence-owned account",
} as const;

/**
 * A cast, a type argument, a field or a function type can get in another way what prepare does not ask for.
 */
const noAccountInTypes: ScriptRule = ({ types }) => {
  for (const use of types) {
    if (use.kind === "entitled-capability") continue;
    return { reason: "ForbiddenType", detail: `${ACCOUNTS_IN_TYPES[use.kind]}: ${use.name}${at(use)}` };
  }
  return undefined;
};

/**
 * Requires that the script alone shows the types that it takes out of storage: AnyResource or a bare
 * Capability can be anything, also an account.
 */
const typesAreConcrete: ScriptRule = ({ storageCalls }) => {
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
const pathsAreLiteral: ScriptRule = ({ storageCalls }, { policy }) => {
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
const cadenceOwnedAccountStays: ScriptRule = ({ storageCalls }) => {
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

const ESCAPES = {
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
const accountStays: ScriptRule = ({ accountUses }, { policy }) => {
  for (const use of accountUses) {
    const to = contractId({ address: use.address, name: use.contract });
    if (use.how === "argument" && policy.contracts.mayGetAccount.has(to)) continue;
    return {
      reason: "AccountEscapes",
      detail: `the account ${ESCAPES[use.how]}${use.how === "argument" ? ` ${to}` : ""}${at(use)}`,
    };
  }
  return undefined;
};

/**
 * `strict`: no lasting rights, neither made nor found, not even over the user's own assets: a compromised
 * marketplace could use them.
 */
const noEntitledCapability: ScriptRule = ({ storageCalls, types }, { policy }) => {
  if (policy.mode !== "strict") return undefined;
  const call = storageCalls.find(({ method, type }) => method === "issue" && (type?.entitlements.length ?? 0) > 0);
  const place = call ?? types.find(({ kind }) => kind === "entitled-capability");
  return place && { reason: "EntitledCapability", detail: `a capability with rights${at(place)}` };
};

/** The rules of a custom script, in the order in which they apply: the first violation is the answer. */
const SCRIPT_RULES: readonly ScriptRule[] = [
  understood,
  oneTransaction,
  accountCountMatchesAuthorizers,
  noShadows,
  noDeniedContract,
  allowedEntitlementsOnly,
  forbidPrivilegedMembers,
  noAccountInTypes,
  cadenceOwnedAccountStays,
  typesAreConcrete,
  accountStays,
  pathsAreLiteral,
  noEntitledCapability,
];

/** Returns the violation of the first rule that the script breaks. */
export function violationOf(facts: ScriptFacts, context: ScriptContext): Violation | undefined {
  for (const rule of SCRIPT_RULES) {
    const violation = rule(facts, context);
    if (violation) return violation;
  }
  return undefined;
}
