import type { Clock } from "@countersign/core";
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

/** With more keys than this a template, which reads every key, exceeds the chain's limit of computation. */
const MAX_KEY_INDEX = 9_999;

const conflict = (detail: string) => refusal("BindingConflict", detail);

/** Rejects an index that is not above the one before: the chain adds keys at its end. */
function checkIndex(index: number, before: ServerKeyPlace): void {
  if (index <= before.index) throw conflict("the index is not above that of the key before");
  if (index > MAX_KEY_INDEX) throw conflict("the index is above the largest possible one");
}

/** Returns all server keys of an account as they were reported, the oldest first. */
const placesOf = ({ retired = [], serverKeyIndex: index, serverKeyVersion: version }: Binding): ServerKeyPlace[] => [
  ...retired,
  { index, version },
];

/**
 * Moves an account to its next server key, once the rotation is sealed: the version before signs no more.
 * Accepted for the next version only, and only after a rotation to it was signed; repeated, however late, it
 * changes nothing. The signer does not see the chain, so a wrong report can be corrected: another index of a
 * version that a rotation brought, or, where `replaces` names it, that the current version is not on chain.
 * Neither is a risk: the chain decides which keys count. Errors: SigningRefused (BindingConflict).
 *
 * Writes: the version that is appended, moved or removed, in one transaction.
 * Crash: nothing or all of it is written; the account service reports the rotation again.
 * Race: the statements check their conditions again, under a lock of the account's binding. Of two first
 * reports of a version the first stays. A report that differs from what is stored then is BindingConflict.
 */
export const rotateBinding =
  ({ bindings, clock }: { bindings: BindingStore; clock: Clock }) =>
  async (command: RotateBindingCommand) => {
    const { accountId, chainName, serverKeyIndex: index, serverKeyVersion: version, replaces } = command;
    const account = { accountId, chainName };
    const isReported = (place: ServerKeyPlace | undefined) => place?.version === version && place.index === index;
    const found = await bindings.findCurrent(accountId);
    const before = found.find((binding) => binding.chainName === chainName);
    if (!before) throw conflict("the account is not bound on this chain");
    const places = placesOf(before);
    const current = places.at(-1)!;
    const at = places.findIndex((place) => place.version === version);
    if (isReported(replaces === undefined ? places[at] : current)) return;

    let after: Binding | undefined;
    if (replaces !== undefined) {
      if (current.version !== replaces) throw conflict("that version is not the current one");
      if (!isReported(places.at(-2))) throw conflict("the version before is another one, or has another index");
      after = await bindings.takeBackVersion(account, replaces);
    } else if (at >= 0) {
      const [previous, next] = [places[at - 1], places[at + 1]];
      if (!previous) throw conflict("the first key keeps the index of the creation");
      checkIndex(index, previous);
      if (next && index >= next.index) throw conflict("the index is not below that of the next key");
      after = await bindings.moveVersion(account, { index, version });
    } else {
      if (current.version + 1 !== version || (before.rotatingTo ?? 0) < version)
        throw conflict("no rotation to this version was signed");
      checkIndex(index, current);
      after = await bindings.appendVersion(account, { index, version }, clock.now());
    }
    const now = after ? placesOf(after) : [];
    const stored = replaces === undefined ? now.find((place) => place.version === version) : now.at(-1);
    if (!isReported(stored)) throw conflict("the version is bound with another index");
  };
