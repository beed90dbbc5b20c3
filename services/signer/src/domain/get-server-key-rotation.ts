import { AppError } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import type { ServerKeyPlace } from "../policy/account.ts";
import { type ChainPolicy, wantedServerKeyVersion } from "../policy/chain.ts";
import type { Vault } from "../vault/index.ts";
import type { AccountOnChain, BindingStore } from "./ports.ts";

/** A server key of an account, and its reported index on chain. */
export interface BoundServerKey extends ServerKeyPlace {
  readonly publicKey: PublicKey;
}

/** The server key of an account, those before it (the oldest first), and the next one. */
export interface ServerKeyState extends BoundServerKey {
  readonly retired: readonly BoundServerKey[];
  /** Undefined where the account is at the wanted version. */
  readonly next: { readonly version: number; readonly publicKey: PublicKey } | undefined;
}

/**
 * Returns what a rotation would change of an account; versions have no gaps. Errors: UnknownChain,
 * AccountNotReady.
 */
export const getServerKeyRotation =
  ({ bindings, vault, chain }: { bindings: BindingStore; vault: Vault; chain(name: string): ChainPolicy }) =>
  async ({ accountId, chainName }: AccountOnChain): Promise<ServerKeyState> => {
    const policy = chain(chainName);
    const binding = (await bindings.findCurrent(accountId)).find((each) => each.chainName === chainName);
    if (!binding) throw new AppError("AccountNotReady");
    const keyOf = (version: number) => vault.publicKey({ role: "server", chainName, accountId, version });
    const version = binding.serverKeyVersion;
    const retired = (binding.retired ?? []).map(async (place) => ({ ...place, publicKey: await keyOf(place.version) }));
    const isBehind = version < wantedServerKeyVersion(policy);
    return {
      version,
      index: binding.serverKeyIndex,
      publicKey: await keyOf(version),
      retired: await Promise.all(retired),
      next: isBehind ? { version: version + 1, publicKey: await keyOf(version + 1) } : undefined,
    };
  };
