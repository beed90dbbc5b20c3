import { type CadenceValue, cadenceAddress } from "../codec/cadence-json.ts";
import {
  endScript,
  type HybridCustodyNetwork,
  redeemScript,
  removeScript,
  setUpScript,
} from "./hybrid-custody-scripts.ts";
import { expectArguments, readAddressArgument, type ScriptCall } from "./template-arguments.ts";

/**
 * A change of links through HybridCustody, with the other account's address, 16 hex digits: the child sets up
 * and removes, the parent redeems; the child ends all of its links at once.
 */
export type HybridCustodyChange =
  | {
      readonly template: "set-up-hybrid-custody" | "redeem-hybrid-custody" | "remove-hybrid-custody";
      readonly other: string;
    }
  | { readonly template: "end-hybrid-custody" };

/** The name of a template for HybridCustody. */
export type HybridCustodyTemplateName = HybridCustodyChange["template"];

const SCRIPTS: Readonly<Record<HybridCustodyTemplateName, (network: HybridCustodyNetwork) => string>> = {
  "set-up-hybrid-custody": setUpScript,
  "redeem-hybrid-custody": redeemScript,
  "remove-hybrid-custody": removeScript,
  "end-hybrid-custody": endScript,
};

export const HYBRID_CUSTODY_TEMPLATE_NAMES = Object.keys(SCRIPTS) as HybridCustodyTemplateName[];

/**
 * Returns the text of a template on a network; a parent that is no account of the service redeems with its
 * own wallet.
 * @example const script = hybridCustodyScript("set-up-hybrid-custody", hybridCustody);
 */
export const hybridCustodyScript = (name: HybridCustodyTemplateName, network: HybridCustodyNetwork): string =>
  SCRIPTS[name](network);

/**
 * Returns the exact arguments, as values: factory and filter are the network's.
 * @example
 * const change = { template: "redeem-hybrid-custody", other: address } as const;
 * const args = hybridCustodyArguments(change, hybridCustody).map(encodeCadence);
 */
export function hybridCustodyArguments(change: HybridCustodyChange, network: HybridCustodyNetwork): CadenceValue[] {
  if (change.template === "end-hybrid-custody") return [];
  const given = change.template === "set-up-hybrid-custody" ? [network.factory, network.filter] : [];
  return [change.other, ...given].map(cadenceAddress);
}

/**
 * Returns what a transaction changes about links through HybridCustody; undefined where it runs another
 * script, or the network has no set-up. Text and arguments are compared byte for byte with our own. Errors:
 * TemplateError.
 * @example readHybridCustodyChange(transaction, hybridCustody); // => undefined
 */
export function readHybridCustodyChange(
  payload: ScriptCall,
  network: HybridCustodyNetwork | undefined,
): HybridCustodyChange | undefined {
  if (!network) return undefined;
  const template = HYBRID_CUSTODY_TEMPLATE_NAMES.find((name) => hybridCustodyScript(name, network) === payload.script);
  if (template === undefined) return undefined;
  const change: HybridCustodyChange =
    template === "end-hybrid-custody" ? { template } : { template, other: readAddressArgument(payload.arguments[0]) };
  const difference = "the factory or the filter is not the network's, or not spelled as we would";
  expectArguments(payload, hybridCustodyArguments(change, network), difference);
  return change;
}
