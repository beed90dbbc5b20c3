import { asOutsidePort, type Clock, type Watched } from "@countersign/core";
import { type AccessApi, createAccessApi } from "@countersign/flow";
import type { Network, Networks } from "@countersign/settings";
import type { ProfileLookup } from "../domain/accounts/profiles.ts";
import { fetchAnswer, fetchLongAnswer } from "./fetch-answer.ts";
import { createFlowChain } from "./flow.ts";
import { createFlowNames } from "./flow-names.ts";
import { createProfiles } from "./known-profiles.ts";

type Chain = ReturnType<typeof createFlowChain>;

/**
 * Opens the configured chains, the names and pictures of their accounts, and links to their transactions. The
 * map of chains follows the networks.
 */
export function openChains(networks: Watched<Networks>, clock: Clock) {
  const chains = new Map<string, Chain>();
  const lookups = new Map<string, ProfileLookup>();
  const opened = new Map<string, string>();
  const listeners: ((chainName: string) => void)[] = [];

  const open = (network: Network): void => {
    const { chainName } = network;
    const settings = JSON.stringify(network);
    if (opened.get(chainName) === settings) return;
    opened.set(chainName, settings);
    const [access, longAnswers] = [fetchAnswer, fetchLongAnswer].map((fetch) =>
      createAccessApi({ baseUrl: network.accessNode, fetch }),
    ) as [AccessApi, AccessApi];
    const chain = createFlowChain(network, access, longAnswers);
    chains.set(chainName, asOutsidePort("chain", chain));
    const names = createFlowNames(network, access);
    if (names) lookups.set(chainName, names);
    else lookups.delete(chainName);
  };
  const close = (chainName: string): void => {
    for (const map of [chains, lookups, opened]) map.delete(chainName);
  };
  const follow = (wanted: Networks): void => {
    const added = [...wanted.keys()].filter((name) => !chains.has(name));
    for (const name of chains.keys()) if (!wanted.has(name)) close(name);
    for (const network of wanted.values()) open(network);
    for (const name of added) for (const listener of listeners) listener(name);
  };
  follow(networks.current());
  networks.onChange(follow);

  return {
    chains: chains as ReadonlyMap<string, Chain>,
    /** Calls `listener` with the name of each chain that is added later. */
    onAdded: (listener: (chainName: string) => void) => void listeners.push(listener),
    profiles: createProfiles({ lookups, clock }),
    transactionUrl: (chainName: string, id: string) =>
      networks.current().get(chainName)?.explorerTransactionUrl.replace("{id}", id) ?? "",
  };
}
