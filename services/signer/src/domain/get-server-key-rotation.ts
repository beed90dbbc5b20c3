import { AppError } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import { type ChainPolicy, wantedServerKeyVersion } from "../policy/chain.ts";
import type { Vault } from "../vault/index.ts";
import type { AccountOnChain, BindingStore } from "./ports.ts";

/** A server key of an account, and where it was told to stand. */
export interface BoundServerKey {
  readonly version: number;
  readonly index: number;
  readonly publicKey: PublicKey;
}

/** Which server key an account has, which it had before, the oldest first, and which one it is to have next. */
export interface ServerKeyState extends BoundServerKey {
  readonly retired: readonly BoundServerKey[];
  /** Undefined where the account is at the wanted version. */
  readonly next: { readonly version: number; readonly publicKey: PublicKey } | undefined;
}

/** What a rotation would change of an account; versions follow each other without a gap. Errors: UnknownChain, AccountNotReady. */
export const getServerKeyRotation =
  ({ bindings, vault, chain }: { bindings: BindingStore; vault: Vault; chain(name: string): ChainPolicy }) =>
  async ({ accountId, chainName }: AccountOnChain): Promise<ServerKeyState> => {
    const policy = chain(chainName);
    const binding = (await bindings.find(accountId)).find((each) => each.chainName === chainName);
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
