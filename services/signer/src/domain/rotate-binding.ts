import type { Clock } from "@countersign/service-kit";
import { faultPoint } from "../fault-points.ts";
import { refuse } from "../policy/refusal.ts";
import type { AccountOnChain, BindingStore } from "./ports.ts";

export interface RotateBindingCommand extends AccountOnChain {
  /** On chain. */
  readonly serverKeyIndex: number;
  readonly serverKeyVersion: number;
}

/**
 * Moves an account to its next server key, once the rotation is sealed: from then on the version before never signs again. Only the next version, and only after we have signed
 * a rotation to it; the same again changes nothing. Errors: SigningRefused (BindingConflict).
 */
export const rotateBinding =
  ({ bindings, clock }: { bindings: BindingStore; clock: Clock }) =>
  async ({ accountId, chainName, serverKeyIndex: index, serverKeyVersion: version }: RotateBindingCommand) => {
    const found = await bindings.find(accountId);
    const before = found.find((binding) => binding.chainName === chainName);
    if (!before) return refuse("BindingConflict", "the account is not bound on this chain");
    const isSame = before.serverKeyVersion === version && before.serverKeyIndex === index;
    if (isSame) return;
    if (before.rotatingTo !== version || before.serverKeyVersion + 1 !== version) {
      refuse("BindingConflict", "no rotation to this version was signed");
    }
    // The chain counts on: a key that was added later stands behind all others.
    if (index <= before.serverKeyIndex) refuse("BindingConflict", "the index is not a later key's");
    const after = await bindings.appendVersion({ accountId, chainName }, { index, version }, clock.now());
    await faultPoint("binding rotated");
    if (after?.serverKeyVersion !== version || after.serverKeyIndex !== index) {
      refuse("BindingConflict", "the version is bound otherwise");
    }
  };
