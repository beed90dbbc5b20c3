import type { Clock } from "@countersign/core";
import { faultPoint } from "../fault-points.ts";
import type { Binding, ServerKeyPlace } from "../policy/account.ts";
import { refusal } from "../policy/refusal.ts";
import type { AccountOnChain, BindingStore } from "./ports.ts";

export interface RotateBindingCommand extends AccountOnChain {
  /** On chain. */
  readonly serverKeyIndex: number;
  readonly serverKeyVersion: number;
  /** The current version, which is not on chain and is taken back; undefined: nothing is. */
  readonly replaces: number | undefined;
}

/** An account with more keys than this runs none of our templates within the chain's limit of computation: they look at every key. */
const MAX_KEY_INDEX = 9_999;

const conflict = (detail: string) => refusal("BindingConflict", detail);

/** The chain counts on: a key that was added later stands behind all others. */
function checkIndex(index: number, before: ServerKeyPlace): void {
  if (index <= before.index) throw conflict("the index is not a later key's");
  if (index > MAX_KEY_INDEX) throw conflict("no account has so many keys");
}

/** All server keys of an account, as it was told, the oldest first. */
const placesOf = ({ retired = [], serverKeyIndex: index, serverKeyVersion: version }: Binding): ServerKeyPlace[] => [
  ...retired,
  { index, version },
];

/**
 * Moves an account to its next server key, once the rotation is sealed: from then on the version before signs no more. Only the next version, and only after we have signed
 * a rotation to it; the same again changes nothing, however late it comes. We do not see the chain: what was told wrongly can be told right, another index of a version that a rotation brought, or,
 * where it is asked for by its name, that the current one is not there. Neither gives anything away: the chain decides which of our keys counts. Errors: SigningRefused (BindingConflict).
 */
export const rotateBinding =
  ({ bindings, clock }: { bindings: BindingStore; clock: Clock }) =>
  async (command: RotateBindingCommand) => {
    const { accountId, chainName, serverKeyIndex: index, serverKeyVersion: version, replaces } = command;
    const account = { accountId, chainName };
    const isTold = (place: ServerKeyPlace | undefined) => place?.version === version && place.index === index;
    const found = await bindings.find(accountId);
    const before = found.find((binding) => binding.chainName === chainName);
    if (!before) throw conflict("the account is not bound on this chain");
    const places = placesOf(before);
    const current = places.at(-1)!;
    const at = places.findIndex((place) => place.version === version);
    if (isTold(replaces === undefined ? places[at] : current)) return;

    let after: Binding | undefined;
    if (replaces !== undefined) {
      if (current.version !== replaces) throw conflict("that version is not the current one");
      if (!isTold(places.at(-2))) throw conflict("the version before is another one, or stands elsewhere");
      after = await bindings.takeBackVersion(account, replaces);
    } else if (at >= 0) {
      const [previous, next] = [places[at - 1], places[at + 1]];
      if (!previous) throw conflict("the first key stands where the creation has put it");
      checkIndex(index, previous);
      if (next && index >= next.index) throw conflict("the index is not an earlier key's");
      after = await bindings.moveVersion(account, { index, version });
    } else {
      if (current.version + 1 !== version || (before.rotatingTo ?? 0) < version)
        throw conflict("no rotation to this version was signed");
      checkIndex(index, current);
      after = await bindings.appendVersion(account, { index, version }, clock.now());
    }
    await faultPoint("binding rotated");
    const now = after ? placesOf(after) : [];
    const stands = replaces === undefined ? now.find((place) => place.version === version) : now.at(-1);
    if (!isTold(stands)) throw conflict("the version is bound otherwise");
  };
