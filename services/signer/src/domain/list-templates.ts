import { invalidField } from "@countersign/core";
import { describeTemplates } from "@countersign/flow";
import type { ChainPolicy } from "../policy/chain.ts";

/**
 * Returns the templates that are signed on a chain. The name may be empty where there is one chain. Errors:
 * UnknownChain, InvalidRequest.
 */
export const listTemplates =
  ({ chains, chain }: { chains: ReadonlyMap<string, ChainPolicy>; chain(name: string): ChainPolicy }) =>
  (chainName: string) => {
    const names = [...chains.keys()];
    if (chainName === "" && names.length > 1)
      throw invalidField("/chainName", `required, one of ${names.map((name) => JSON.stringify(name)).join(", ")}`);
    return describeTemplates(chain(chainName || (names[0] ?? "")).hybridCustody);
  };
