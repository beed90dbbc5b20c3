import { isAppError } from "@countersign/core";
import { keyRoleOf } from "@countersign/flow";
import type { AccountAddress } from "../accounts/account.ts";
import { cadenceAddressesOf } from "../accounts/account-on-chain.ts";
import type { AccountKeysChain } from "../accounts/list-account-keys.ts";
import type { AccountKey } from "../key-additions/key-addition.ts";
import type { AccountStore } from "../ports.ts";
import type { BoundServerKeys, RotationSigner } from "../server-keys/server-key-rotation.ts";

/**
 * Returns how the chain's keys and the signer's server keys differ, and the meaning of each difference; empty
 * where they agree. `bound`: undefined where the signer knows no address of the account.
 */
export function compareServerKeys(keys: readonly AccountKey[], bound: BoundServerKeys | undefined): string[] {
  const found: string[] = [];
  const servers = keys.filter((key) => keyRoleOf(key) === "server");
  const active = servers.filter(({ revoked }) => !revoked);
  if (keys.length === 0) found.push("the chain shows no key: nobody controls the address, or the node lacks it");
  else if (active.length === 0) found.push("no server key is active on chain: the person has left");
  if (active.length > 1) found.push(`${active.length} server keys are active on chain: a rotation is not finished`);
  for (const { index } of keys.filter((key) => !key.revoked && keyRoleOf(key) === undefined))
    found.push(`key ${index} on chain has a weight or hash that the service gives no key: somebody else added it`);
  if (!bound) return [...found, "the signer has no binding: it signs nothing for the account"];
  const { current, retired } = bound;
  const onChain = keys.find(({ index }) => index === current.index);
  if (onChain?.publicKey !== current.publicKey)
    found.push(`key ${current.index} on chain is not the server key that the signer uses: its signatures fail`);
  else if (onChain.revoked && active.length > 0)
    found.push(`the signer uses server key ${current.index}, which is revoked on chain: its signatures fail`);
  for (const { index, publicKey } of retired) {
    const old = keys.find((key) => key.index === index && key.publicKey === publicKey);
    if (old && !old.revoked) found.push(`retired server key ${index} is still active on chain: revoke it`);
  }
  return found;
}

export interface CompareAccountOptions {
  readonly accounts: Pick<AccountStore, "find">;
  readonly chains: ReadonlyMap<string, AccountKeysChain>;
  readonly signer: Pick<RotationSigner, "serverKeys">;
}

/** Compares an account with its chains and with the signer; changes nothing. */
export const compareAccount =
  ({ accounts, chains, signer }: CompareAccountOptions) =>
  async (accountId: string, signal: AbortSignal): Promise<string[]> => {
    const bindingOf = async (chainName: string) => {
      try {
        return await signer.serverKeys(accountId, chainName);
      } catch (error) {
        if (isAppError(error, "AccountNotReady", "AccountNotFound")) return undefined;
        throw error;
      }
    };
    const compare = async ({ chainName, address }: AccountAddress): Promise<string[]> => {
      const chain = chains.get(chainName);
      if (!chain) return ["not compared: the chain is not configured any more"];
      // The signer first: a rotation that ends in between shows the chain newer, never the signer.
      const bound = await bindingOf(chainName);
      return compareServerKeys(await chain.accountKeys(address, signal), bound);
    };
    const addresses = await cadenceAddressesOf(accounts, accountId);
    if (addresses.length === 0) return ["no address: the account is not on chain"];
    const compared = addresses.map(async (address) => {
      const differences = await compare(address).catch((error: unknown) => [
        `not compared: ${(error as Error).message}`,
      ]);
      return differences.map((difference) => `${address.chainName} 0x${address.address}: ${difference}`);
    });
    return (await Promise.all(compared)).flat();
  };
