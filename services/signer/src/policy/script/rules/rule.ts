import type { RefusalReason } from "../../refusal.ts";
import type { ScriptFacts } from "../script-facts.ts";

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

export interface ScriptContext {
  readonly policy: ScriptPolicy;
  /** How many accounts the message authorizes with. */
  readonly authorizers: number;
}

export interface Violation {
  readonly reason: RefusalReason;
  /** For people, with the place in the script. */
  readonly detail: string;
}

/** One rule: returns its objection to the script, if any. Pure and cheap: it runs for every signature. */
export type ScriptRule = (facts: ScriptFacts, context: ScriptContext) => Violation | undefined;

/** Returns " (line:column)" of a place in the script. */
export const at = (place: { readonly at: string } | undefined): string => (place?.at ? ` (${place.at})` : "");

export const contractId = ({ address, name }: { address: string; name: string }): string => `A.${address}.${name}`;
