import { isAppError } from "@countersign/core";
import { createAccountsScript, type DecodedMessage, decodeMessage, InvalidMessageError } from "@countersign/flow";
import { sha256 } from "../audit/record.ts";
import type { Amounts } from "../budget/budget.ts";
import { amountsOf } from "../budget/reserve.ts";
import { checkPaymasterOnlyPays } from "../policy/paymaster.ts";
import { checkSwitch, type Operation, type PolicySource } from "../policy/policy.ts";
import { refuse } from "../policy/refusal.ts";
import type { KnownScripts } from "../policy/script/known-scripts.ts";
import { type Template, templateOf } from "../policy/template.ts";
import { type ChainPolicy, checkGasLimit } from "../policy/transaction.ts";
import { checkFreeScript } from "./sign-transaction.ts";

/** What a message is, and what the rules that need no account say about it. */
export interface Explanation {
  /** Empty where the message could not be decoded. */
  readonly kind: DecodedMessage["kind"] | "";
  /** The rule that decides; empty where none of those refuses. */
  readonly refusalReason: string;
  readonly detail: string;
  /** What the signature would take from budgets; absent where it would not be given, and for a creation. */
  readonly reserves?: Amounts;
}

export interface ExplainOptions {
  readonly policies: PolicySource;
  readonly scripts: KnownScripts;
  readonly chains: ReadonlyMap<string, ChainPolicy>;
}

/** Which operation the message is for. Without a chain's name any of ours will do. */
function operationOf({ kind, payer, script }: DecodedMessage, chains: readonly ChainPolicy[]): Operation {
  if (chains.some(({ evmContract }) => script === createAccountsScript(evmContract))) return "creation";
  const paid = chains.some(({ paymaster }) => paymaster.address === payer);
  return kind === "envelope" && paid ? "paymaster" : "transaction";
}

/** Without a chain's name the template of any will do; what one chain's text refuses another one's may allow. */
function templateOnAny(decoded: DecodedMessage, chains: readonly ChainPolicy[]): Template | undefined {
  let refusal: unknown;
  for (const hybridCustody of [undefined, ...chains.map((chain) => chain.hybridCustody)]) {
    try {
      const template = templateOf(decoded, hybridCustody);
      if (template) return template;
    } catch (error) {
      refusal ??= error;
    }
  }
  if (refusal !== undefined) throw refusal;
  return undefined;
}

/**
 * Decodes a message, says what it is and which rule decides; signs nothing and leaves no record. It knows no account, so whose authorizer, proposer, payer and signatures
 * these are stays open; it does not say whether a
 * creation's keys are right, nor what is left of a budget.
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
      detail = `${operation}; script ${scriptHash}; authorizers ${authorizers.join(", ")}; proposer ${proposalKey.address}; payer ${payer}; gas limit ${gasLimit}; policy ${policy.version}`;
      checkSwitch(operation, policy);
      if (operation === "creation") return { kind, refusalReason: "", detail: `accounts are created; ${detail}` };
      if (authorizers.length > 1) refuse("MoreThanOneAuthorizer", "the account must be the only authorizer");
      if (authorizers.length === 0) refuse("NotYourAccount", "nobody authorizes");
      checkPaymasterOnlyPays(decoded, new Set([...chains.values()].map(({ paymaster }) => paymaster.address)));
      const template = templateOnAny(decoded, known);
      checkGasLimit(decoded, template, policy);
      // Whoever has things explained waits behind each other, and not before those who have things signed.
      if (!template) await checkFreeScript(scripts, decoded, { policy, scriptHash }, "explain");
      const payingChain = known.find(({ paymaster }) => paymaster.address === payer)?.chainName ?? chainName;
      return {
        kind,
        refusalReason: "",
        reserves: amountsOf(operation, decoded, payingChain, policy),
        detail: `${template ? `template ${template.name}` : "free script"}; ${detail}`,
      };
    } catch (error) {
      if (error instanceof InvalidMessageError)
        return { kind: "", refusalReason: "InvalidMessage", detail: error.message };
      if (isAppError(error, "SigningRefused"))
        return { kind, refusalReason: error.metadata.reason ?? error.reason, detail: `${error.detail}; ${detail}` };
      throw error;
    }
  };
