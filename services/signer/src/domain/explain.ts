import { isAppError } from "@countersign/core";
import { createAccountsScript, type DecodedMessage, decodeMessage, InvalidMessageError } from "@countersign/flow";
import { sha256 } from "../audit/record.ts";
import type { Amounts } from "../budget/budget.ts";
import { amountsOf } from "../budget/reservation.ts";
import type { ChainPolicy } from "../policy/chain.ts";
import { paymasterOnlyPays } from "../policy/paymaster-rules.ts";
import { checkSwitch, type PolicySource } from "../policy/policy.ts";
import { refusal } from "../policy/refusal.ts";
import { evaluate } from "../policy/rule.ts";
import { checkCustomScript } from "../policy/script/check-script.ts";
import type { KnownScripts } from "../policy/script/known-scripts.ts";
import { readTemplate } from "../policy/template.ts";
import { templateArgumentsAreReadable } from "../policy/template-rules.ts";
import { gasLimitIsWithinCap } from "../policy/transaction-rules.ts";

/** The result of the rules that need no account. */
export interface Explanation {
  /** Empty where the message could not be decoded. */
  readonly kind: DecodedMessage["kind"] | "";
  /** The rule that refuses; empty where none of them does. */
  readonly refusalReason: string;
  readonly detail: string;
  /** The amounts that the signature would reserve; undefined for a refused request and for a creation. */
  readonly reserves?: Amounts;
}

export interface ExplainOptions {
  readonly policies: PolicySource;
  readonly scripts: KnownScripts;
  readonly chains: ReadonlyMap<string, ChainPolicy>;
}

/** Returns the operation that the message is for, on any of these chains. */
function operationOf({ kind, payer, script }: DecodedMessage, chains: readonly ChainPolicy[]) {
  if (chains.some(({ evmContract }) => script === createAccountsScript(evmContract))) return "creation";
  const paid = chains.some(({ paymaster }) => paymaster.address === payer);
  return kind === "envelope" && paid ? "paymaster" : "transaction";
}

/** Returns the template of any of these chains; where none has one, why the arguments could not be read. */
function templateOnAny(decoded: DecodedMessage, chains: readonly ChainPolicy[]): ReturnType<typeof readTemplate> {
  const read = [undefined, ...chains].map((chain) => readTemplate(decoded, chain?.hybridCustody));
  const problem = read.find(({ templateProblem }) => templateProblem !== "");
  return read.find(({ template }) => template) ?? problem ?? { template: undefined, templateProblem: "" };
}

/**
 * Decodes a message and returns what it is and which rule decides; signs nothing and writes no record. It
 * uses no account: rules about whose authorizer, proposer, payer and signatures these are do not apply, nor
 * those about a creation's keys and what is left of a budget. Without a chain's name a template of any chain
 * is one.
 */
export const explain =
  ({ policies, scripts, chains }: ExplainOptions) =>
  async (message: Uint8Array, chainName: string): Promise<Explanation> => {
    let kind: Explanation["kind"] = "";
    let detail = "";
    try {
      const decoded = decodeMessage(message);
      kind = decoded.kind;
      const policy = policies.current();
      const known = [...chains.values()].filter((chain) => chainName === "" || chain.chainName === chainName);
      const operation = operationOf(decoded, known);
      const scriptHash = sha256(decoded.script);
      const { authorizers, proposalKey, payer, gasLimit } = decoded;
      const parties = `authorizers ${authorizers.join(", ")}; proposer ${proposalKey.address}; payer ${payer}`;
      detail = `${operation}; script ${scriptHash}; ${parties}; gas limit ${gasLimit}; policy ${policy.version}`;
      checkSwitch(operation, policy);
      if (operation === "creation") return { kind, refusalReason: "", detail: `creation of accounts; ${detail}` };
      if (authorizers.length > 1) throw refusal("MoreThanOneAuthorizer", "the account must be the only authorizer");
      if (authorizers.length === 0) throw refusal("NotYourAccount", "the message has no authorizer");
      const paymasters = new Set([...chains.values()].map(({ paymaster }) => paymaster.address));
      evaluate([paymasterOnlyPays], { message: decoded, paymasters });
      const { template, templateProblem } = templateOnAny(decoded, known);
      evaluate([templateArgumentsAreReadable], { templateProblem });
      evaluate([gasLimitIsWithinCap], { message: decoded, template, policy });
      // All callers of Explain share one queue, apart from those of requests that are to be signed.
      if (!template) await checkCustomScript(scripts, decoded, { policy, scriptHash, sender: "explain" });
      const payingChain = known.find(({ paymaster }) => paymaster.address === payer)?.chainName ?? chainName;
      return {
        kind,
        refusalReason: "",
        reserves: amountsOf(operation, decoded, payingChain, policy),
        detail: `${template ? `template ${template.name}` : "custom script"}; ${detail}`,
      };
    } catch (error) {
      if (error instanceof InvalidMessageError)
        return { kind: "", refusalReason: "InvalidMessage", detail: error.message };
      if (isAppError(error, "SigningRefused"))
        return { kind, refusalReason: error.metadata.reason ?? error.reason, detail: `${error.detail}; ${detail}` };
      throw error;
    }
  };
