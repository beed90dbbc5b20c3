import { invalidField } from "@countersign/core";
import { MAX_ACCOUNTS_PER_CREATION } from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import { type ChainPolicy, wantedServerKeyVersion } from "../policy/chain.ts";
import type { Vault } from "../vault/index.ts";

/** Server keys of one version. */
export interface ServerKeys {
  readonly version: number;
  /** In the order asked. */
  readonly publicKeys: readonly PublicKey[];
}

/**
 * Returns the public server keys of new accounts on a chain, of the version that is wanted now. Errors:
 * UnknownChain, InvalidRequest.
 */
export const deriveServerKeys =
  ({ vault, chain }: { vault: Vault; chain(name: string): ChainPolicy }) =>
  async (chainName: string, accountIds: readonly string[]): Promise<ServerKeys> => {
    const version = wantedServerKeyVersion(chain(chainName));
    if (accountIds.length === 0 || accountIds.length > MAX_ACCOUNTS_PER_CREATION)
      throw invalidField("/accountIds", `one to ${MAX_ACCOUNTS_PER_CREATION} account ids`);
    const keyOf = (accountId: string) => vault.publicKey({ role: "server", chainName, accountId, version });
    return { version, publicKeys: await Promise.all(accountIds.map(keyOf)) };
  };
