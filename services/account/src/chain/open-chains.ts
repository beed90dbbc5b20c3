import { asOutsidePort, type Clock } from "@countersign/core";
import { createAccessApi } from "@countersign/flow";
import type { Network } from "@countersign/settings";
import { createFlowChain } from "./flow.ts";
import { createFlowNames } from "./flow-names.ts";
import { createProfiles } from "./known-profiles.ts";

/** Opens the configured chains, the names and pictures of their accounts, and links to their transactions. */
export function openChains(networks: Iterable<Network>, clock: Clock) {
  const opened = [...networks].map((network) => {
    const access = createAccessApi({ baseUrl: network.accessNode });
    const chain = asOutsidePort("chain", createFlowChain(network, access), { transactionUrl: false });
    return { chain, names: createFlowNames(network, access) };
  });
  const chains = new Map(opened.map(({ chain }) => [chain.chainName, chain]));
  const lookups = new Map(opened.flatMap(({ chain, names }) => (names ? [[chain.chainName, names] as const] : [])));
  return {
    chains,
    profiles: createProfiles({ lookups, clock }),
    transactionUrl: (chainName: string, id: string) => chains.get(chainName)?.transactionUrl(id) ?? "",
  };
}
