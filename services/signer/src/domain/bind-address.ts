import type { Clock } from "@countersign/core";
import type { Binding } from "../policy/account.ts";
import type { ChainPolicy } from "../policy/chain.ts";
import { refusal } from "../policy/refusal.ts";
import type { BindingStore, SignedCreations } from "./ports.ts";

export interface BindAddressOptions {
  readonly bindings: BindingStore;
  readonly signedCreations: SignedCreations;
  readonly clock: Clock;
  chain(name: string): ChainPolicy;
}

/**
 * Binds a sealed account to its address. Write-once per account and chain: the same binding again changes
 * nothing, any other is refused, and so is that of an account whose creation was not signed with this version
 * of its server key. Errors: UnknownChain, SigningRefused (BindingConflict).
 *
 * Writes: the address's account; then the binding and its event, in one statement.
 * Crash: the account service calls again; an address without its binding stays the account's.
 * Race: the first binding of an account, and of an address, stays; another one is BindingConflict.
 */
export const bindAddress =
  ({ bindings, signedCreations, clock, chain }: BindAddressOptions) =>
  async (binding: Binding, requestId: string): Promise<void> => {
    const { paymaster, creator } = chain(binding.chainName);
    // Bound to one of our own accounts, a user's token would open that.
    if (binding.address === paymaster.address || binding.address === creator.address) {
      throw refusal("BindingConflict", "the address is the paymaster's or the creator's");
    }
    if (!(await signedCreations.has(binding, binding.serverKeyVersion)))
      throw refusal("BindingConflict", "no creation with this version of the server key was signed");
    const present = await bindings.insert(binding, { now: clock.now(), requestId });
    if (!present || !isSame(binding, present))
      throw refusal("BindingConflict", "account or address is bound already, with other values");
  };

const isSame = (one: Binding, other: Binding): boolean =>
  one.address === other.address &&
  one.serverKeyIndex === other.serverKeyIndex &&
  one.serverKeyVersion === other.serverKeyVersion;
