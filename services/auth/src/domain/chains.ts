import { AppError, unknownChain } from "@countersign/core";
import { FLOW_KEY_ALGORITHMS, isFlowKeyAlgorithm } from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";

/** Refuses early what the account service would refuse later. Errors: UnknownChain, UnsupportedKey. */
export function requireChainAndKey(chains: ReadonlySet<string>, chainName: string, key?: PublicKey): void {
  if (!chains.has(chainName)) throw unknownChain(chainName, chains);
  if (key && !isFlowKeyAlgorithm(key.algorithm)) {
    throw new AppError("UnsupportedKey", {
      detail: `${chainName} carries keys of ${FLOW_KEY_ALGORITHMS.join(" and ")}`,
    });
  }
}
