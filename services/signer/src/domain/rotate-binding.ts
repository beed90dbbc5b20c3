import type { Clock } from "@countersign/service-kit";
import { faultPoint } from "../fault-points.ts";
import type { Binding, ServerKeyPlace } from "../policy/account.ts";
import { refuse } from "../policy/refusal.ts";
import type { AccountOnChain, BindingStore } from "./ports.ts";

export interface RotateBindingCommand extends AccountOnChain {
  /** On chain. */
  readonly serverKeyIndex: number;
  readonly serverKeyVersion: number;
}

/** An account with more keys than this runs none of our templates within the chain's limit of computation: they look at every key. */
const MAX_KEY_INDEX = 9_999;

const conflict = (detail: string): never => refuse("BindingConflict", detail);

/** The chain counts on: a key that was added later stands behind all others. */
function checkIndex(index: number, before: ServerKeyPlace): void {
  if (index <= before.index) conflict("the index is not a later key's");
  if (index > MAX_KEY_INDEX) conflict("no account has so many keys");
}

/**
 * Moves an account to its next server key, once the rotation is sealed: from then on the version before signs no more. Only the next version, and only after we have signed
 * a rotation to it; the same again changes nothing. We do not see the chain: what was told wrongly can be told right, another index of the current version, or the version before, which
 * takes the current one back. Neither gives anything away: the chain decides which of our keys counts. Errors: SigningRefused (BindingConflict).
 */
export const rotateBinding =
  ({ bindings, clock }: { bindings: BindingStore; clock: Clock }) =>
  async ({ accountId, chainName, serverKeyIndex: index, serverKeyVersion: version }: RotateBindingCommand) => {
    const account = { accountId, chainName };
    const found = await bindings.find(accountId);
    const before = found.find((binding) => binding.chainName === chainName);
    if (!before) return conflict("the account is not bound on this chain");
    const current = { index: before.serverKeyIndex, version: before.serverKeyVersion };
    const previous = before.retired?.at(-1);
    if (current.version === version && current.index === index) return;

    let after: Binding | undefined;
    if (previous?.version === version) {
      if (previous.index !== index) conflict("that version stands elsewhere");
      after = await bindings.takeBackVersion(account, current.version);
    } else if (previous && current.version === version) {
      checkIndex(index, previous);
      after = await bindings.moveVersion(account, { index, version });
    } else {
      if (current.version + 1 !== version || (before.rotatingTo ?? 0) < version)
        conflict("no rotation to this version was signed");
      checkIndex(index, current);
      after = await bindings.appendVersion(account, { index, version }, clock.now());
    }
    await faultPoint("binding rotated");
    if (after?.serverKeyVersion !== version || after.serverKeyIndex !== index)
      conflict("the version is bound otherwise");
  };
