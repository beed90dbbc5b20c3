import {
  type AccessApi,
  activeKey,
  type ChainKey,
  createAccessApi,
  type HybridCustodyNetwork,
} from "@countersign/flow";
import type { Account } from "./resources.ts";

/** The chain's facts that a client needs. */
export interface ClientNetwork {
  /** The chain's configured name, such as `flow-mainnet`. */
  chainName: string;
  /** REST address of an access node. */
  accessNode: string;
  /** The paying account; with or without 0x. */
  paymaster: string;
  /**
   * HybridCustody as the service's configuration of the network has it; without it, links go through the
   * inbox.
   */
  hybridCustody?: HybridCustodyNetwork;
}

interface AccessOptions {
  network: Pick<ClientNetwork, "accessNode">;
  accessApi?: AccessApi | undefined;
}

/** Returns the access node's API: the given one, or the network's REST API. */
export const accessOf = ({ network, accessApi }: AccessOptions): AccessApi =>
  accessApi ?? createAccessApi({ baseUrl: network.accessNode });

/** Returns an address as the codec wants it: 16 hex digits without 0x. */
export const plainAddress = (address: string): string => address.replace(/^0x/i, "").toLowerCase();

/** Returns the account's address on a chain, with 0x. */
export async function cadenceAddress(client: { me(): Promise<Account> }, chainName: string): Promise<string> {
  const { addresses } = await client.me();
  const found = addresses.find((entry) => entry.chainName === chainName && entry.chainType === "cadence");
  if (!found) {
    const names = addresses.map((entry) => entry.chainName);
    throw new Error(
      `the account has no address on ${chainName}, it is on: ${[...new Set(names)].join(", ") || "none yet"}`,
    );
  }
  return found.address;
}

/** Returns a device's key on the account. */
export function deviceKeyOf(keys: readonly ChainKey[], address: string, publicKey: string): ChainKey {
  const key = keys.find((entry) => !entry.revoked && entry.publicKey === publicKey);
  if (!key) throw new Error(`this device's key is not on the account 0x${address}`);
  return key;
}

/** Returns the account's server key. */
export function serverKeyOf(keys: readonly ChainKey[], address: string): ChainKey {
  const key = activeKey(keys, "server");
  if (!key) throw new Error(`the account 0x${address} has no server key`);
  return key;
}
