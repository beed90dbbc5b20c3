import type { Clock } from "@countersign/service-kit";
import { faultPoint } from "../fault-points.ts";
import type { Binding } from "../policy/account.ts";
import { refuse } from "../policy/refusal.ts";
import type { ChainPolicy } from "../policy/transaction.ts";
import type { BindingStore, SignedCreations } from "./ports.ts";

export interface BindAddressOptions {
  readonly bindings: BindingStore;
  readonly signedCreations: SignedCreations;
  readonly clock: Clock;
  chain(name: string): ChainPolicy;
}

/**
 * Remembers where a sealed account stands. Write-once per account and chain: the same again changes nothing, anything else is refused, and so is an account whose creation was not signed
 * with this version of its server key.
 * Errors: UnknownChain, SigningRefused (BindingConflict).
 */
export const bindAddress =
  ({ bindings, signedCreations, clock, chain }: BindAddressOptions) =>
  async (binding: Binding, requestId: string): Promise<void> => {
    const { paymaster, creator } = chain(binding.chainName);
    // Bound to one of our own accounts, a user's token would open that.
    if (binding.address === paymaster.address || binding.address === creator.address) {
      refuse("BindingConflict", "this is no user's address");
    }
    if (!(await signedCreations.has(binding, binding.serverKeyVersion))) {
      refuse("BindingConflict", "no creation with this version of the server key was signed");
    }
    const present = await bindings.insert(binding, { now: clock.now(), requestId });
    await faultPoint("binding committed");
    const same =
      present?.address === binding.address &&
      present.serverKeyIndex === binding.serverKeyIndex &&
      present.serverKeyVersion === binding.serverKeyVersion;
    if (!same) refuse("BindingConflict", "account or address is bound otherwise");
  };
