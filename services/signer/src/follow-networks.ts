import { updateMap, type Watched } from "@countersign/core";
import type { Network, Networks } from "@countersign/settings";
import type { ChainPolicy } from "./policy/chain.ts";

function chainPolicy({ chainName, paymaster, creator, evmContract, ...network }: Network): ChainPolicy {
  const { hybridCustody: contract, hybridCustodySetUp, serverKeyVersion, referenceSeconds } = network;
  // Without a set-up it is read only: the templates are no templates then.
  const hybridCustody = contract !== undefined && hybridCustodySetUp && { contract, ...hybridCustodySetUp };
  const ours = { serverKeyVersion, referenceSeconds, ...(hybridCustody && { hybridCustody }) };
  return { chainName, paymaster, creator, evmContract, ...ours };
}

/** Returns the settings of chains that the rules use, and all paymasters; both follow the networks. */
export function followNetworks(networks: Watched<Networks>) {
  const chains = new Map<string, ChainPolicy>();
  const paymasters = new Set<string>();
  const follow = (wanted: Networks): void => {
    updateMap(chains, new Map([...wanted].map(([chainName, network]) => [chainName, chainPolicy(network)])));
    paymasters.clear();
    for (const { paymaster } of chains.values()) paymasters.add(paymaster.address);
  };
  follow(networks.current());
  networks.onChange(follow);
  return { chains: chains as ReadonlyMap<string, ChainPolicy>, paymasters: paymasters as ReadonlySet<string> };
}
