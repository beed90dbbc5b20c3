import { AppError } from "@countersign/errors";
import type { PublicKey } from "@countersign/keys";
import { type ChainPolicy, wantedServerKeyVersion } from "../policy/transaction.ts";
import type { Vault } from "../vault/index.ts";
import type { AccountOnChain, BindingStore } from "./ports.ts";

/** Which server key an account has, and which one it is to have next. */
export interface ServerKeyState {
  readonly version: number;
  readonly publicKey: PublicKey;
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
    const isBehind = version < wantedServerKeyVersion(policy);
    return {
      version,
      publicKey: await keyOf(version),
      next: isBehind ? { version: version + 1, publicKey: await keyOf(version + 1) } : undefined,
    };
  };
