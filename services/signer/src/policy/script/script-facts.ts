/** Something that stands at the top of the script. */
export interface Declared {
  readonly kind: string;
  readonly at: string;
}

/** A name that means something else than it seems to. */
export interface Shadow {
  readonly name: string;
  readonly at: string;
}

/** A contract that the script imports. */
export interface Imported {
  /** The contract's own name, not the script's alias; empty for an import of everything at an address. */
  readonly name: string;
  /** The name that the script gives it. */
  readonly as: string;
  /** 16 hex digits; empty where the import names no address. */
  readonly address: string;
  readonly at: string;
}

/** A parameter of prepare: one authorizer's account, and the rights that the script asks for. */
export interface PrepareParameter {
  readonly name: string;
  /** Whether it is a reference to Account, as Cadence wants it. */
  readonly isAccount: boolean;
  readonly entitlements: readonly string[];
  readonly at: string;
}

/** A type somewhere in the script that speaks of accounts. */
export interface TypeUse {
  readonly kind:
    | "account-entitlement"
    | "account-part"
    | "account-capability"
    | "owned-account"
    | "coa-capability"
    | "entitled-capability";
  readonly name: string;
  readonly at: string;
}

/** A type that a storage call names. */
export interface TypeFacts {
  /** Why the type is not known from the script alone: "AnyResource", "{Interface}", …; empty where it is. */
  readonly vague: string;
  /** Interfaces behind a reference: known enough to be borrowed, not to be taken out. */
  readonly interfaces: boolean;
  readonly isReference: boolean;
  /** Of the outermost reference, contracts by their own names. */
  readonly entitlements: readonly string[];
  /** Every type that is named, contracts by their own names. */
  readonly names: readonly string[];
}

/** A name that opens more than the script shows, written somewhere in it. */
export interface Member {
  /** "keys", "capabilities.account", "Account(…)", … */
  readonly name: string;
  readonly at: string;
}

/** Where an account of prepare, or a part of it, is anything else than the receiver of a direct call. */
export interface AccountUse {
  readonly how: "argument" | "value" | "closure" | "controller";
  /** For "argument": the function of an imported contract that gets it, by the contract's own name. */
  readonly contract: string;
  /** 16 hex digits; empty where it is not known. */
  readonly address: string;
  readonly at: string;
}

/** How a storage path is written. */
export type PathFact =
  | { readonly kind: "literal" }
  /** A constant of an imported contract: the script does not show what it is. */
  | { readonly kind: "contract"; readonly contract: string; readonly address: string }
  | { readonly kind: "computed" };

/**
 * A call that takes something out of an account's storage, makes a capability of it, or makes an issued one
 * lead elsewhere ("retarget", which has no type).
 */
export interface StorageCall {
  readonly method: "load" | "copy" | "borrow" | "issue" | "retarget";
  /** Undefined where the call names no type. */
  readonly type: TypeFacts | undefined;
  readonly path: PathFact;
  readonly at: string;
}

/**
 * The facts that a script's syntax tree shows, as far as rules need them. They depend on neither policy nor
 * account, so they never change.
 */
export interface ScriptFacts {
  /** Why nothing else is known; empty where the script was understood. */
  readonly problem: string;
  readonly declarations: readonly Declared[];
  readonly imports: readonly Imported[];
  readonly shadows: readonly Shadow[];
  readonly prepare: readonly PrepareParameter[];
  readonly types: readonly TypeUse[];
  readonly members: readonly Member[];
  readonly accountUses: readonly AccountUse[];
  readonly storageCalls: readonly StorageCall[];
}

/** Returns the facts of a text that is no script, or that takes too much to be read. */
export const notUnderstood = (problem: string): ScriptFacts => ({
  problem,
  declarations: [],
  imports: [],
  shadows: [],
  prepare: [],
  types: [],
  members: [],
  accountUses: [],
  storageCalls: [],
});
