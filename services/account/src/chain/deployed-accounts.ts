import { addedKeys, type ChainEvent, HASH_ALGORITHM, KEY_ROLES } from "@countersign/flow";
import type { DeployedAccount } from "../domain/creations/chain.ts";

/**
 * Returns the accounts that a creation made. Its script makes one account after the other: first its keys,
 * then its EVM address, whose event has the type `evmCreated`. Throws where one of these events is missing.
 */
export function deployedAccounts(events: readonly ChainEvent[], evmCreated: string): DeployedAccount[] {
  const accounts: DeployedAccount[] = [];
  const incomplete = () => new Error("the events of a creation are incomplete");
  let keyed: Omit<DeployedAccount, "evmAddress"> | undefined;
  for (const event of events.toSorted((one, other) => (one.index ?? 0) - (other.index ?? 0))) {
    const [key] = addedKeys([event]);
    if (key?.keyIndex === KEY_ROLES.server.initialIndex && key.hashAlgorithm === HASH_ALGORITHM.SHA3_256) {
      if (keyed) throw incomplete();
      keyed = { address: key.address, serverKey: key.publicKey, serverKeyIndex: key.keyIndex };
    }
    if (event.type !== evmCreated) continue;
    if (!keyed) throw incomplete();
    accounts.push({ ...keyed, evmAddress: evmAddressOf(event.fields.address, keyed.address) });
    keyed = undefined;
  }
  if (keyed) throw incomplete();
  return accounts;
}

/** Returns an EVM address as 0x and 40 hex digits; throws where an account shows none. */
function evmAddressOf(shown: unknown, address: string): string {
  const evm = typeof shown === "string" ? shown.toLowerCase().replace(/^0x/, "") : "";
  if (!/^[0-9a-f]{40}$/.test(evm)) throw new Error(`account 0x${address} shows no EVM address`);
  return `0x${evm}`;
}
