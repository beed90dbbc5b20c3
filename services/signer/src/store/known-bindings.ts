import type { Binding } from "../policy/account.ts";

const CACHED_ACCOUNTS = 50_000;
/** A second net below what we are told. */
const CACHED_MS = 5_000;
/** How long a read may be joined. */
const SHARED_MS = 500;

/** Bound, and no rotation on its way: only changes that we are told of change it. */
const isSettled = (found: readonly Binding[]): boolean =>
  found.length > 0 && found.every(({ rotatingTo }) => rotatingTo === undefined);

export interface KnownBindings {
  find(accountId: string): Promise<Binding[]>;
  /** An account's bindings changed; "" for nobody knows whose. */
  forget(accountId: string): void;
}

/**
 * What is known of accounts' bindings. They change only by a rotation, which all replicas are told of before it is signed: what `read` found is remembered while we listen
 * (`listening`), but not while a rotation is on its way.
 */
export function createKnownBindings(
  read: (accountId: string) => Promise<Binding[]>,
  listening: () => boolean,
): KnownBindings {
  const remembered = new Map<string, Binding[]>();
  /** What is being read, so that an account with many requests is read once. */
  const underWay = new Map<string, Promise<Binding[]>>();

  const remember = (accountId: string, found: Binding[]): void => {
    remembered.set(accountId, found);
    setTimeout(() => remembered.delete(accountId), CACHED_MS).unref();
    if (remembered.size > CACHED_ACCOUNTS) remembered.delete(remembered.keys().next().value!);
  };

  /** Begins a read that others may join for a moment, unless a change is told meanwhile. */
  const readShared = (accountId: string): Promise<Binding[]> => {
    const leave = () => {
      clearTimeout(timer);
      if (underWay.get(accountId) === reading) underWay.delete(accountId);
    };
    // Nobody waits for long on the one connection that does not answer.
    const timer = setTimeout(() => leave(), SHARED_MS).unref();
    const reading = read(accountId)
      .then((found) => {
        // A change while we were reading may be one that we did not see.
        if (isSettled(found) && underWay.get(accountId) === reading && listening()) remember(accountId, found);
        return found;
      })
      .finally(leave);
    underWay.set(accountId, reading);
    return reading;
  };

  return {
    async find(accountId) {
      if (!listening()) return read(accountId);
      const known = remembered.get(accountId);
      if (known) return known;
      const begun = underWay.get(accountId);
      if (!begun) return readShared(accountId);
      const found = await begun;
      // What has just been bound or rotates may be on its way to us: only a read that begins after the question says how it stands.
      return isSettled(found) ? found : (underWay.get(accountId) ?? readShared(accountId));
    },

    forget(accountId) {
      for (const known of [remembered, underWay]) {
        if (accountId === "") known.clear();
        else known.delete(accountId);
      }
    },
  };
}
