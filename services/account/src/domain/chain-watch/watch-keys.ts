import type { Heights, Lease } from "../ports.ts";
import { type AccountEvent, type AlertActions, typesToRead } from "./account-event.ts";
import { type Alert, type AlertChain, findAlerts } from "./find-alerts.ts";

/** The chain, as far as watching accounts needs it. */
export interface KeyWatchChain extends AlertChain {
  latestBlock(signal: AbortSignal): Promise<{ height: bigint }>;
  /** Events of these types in these blocks, of any account, both ends included; at most `maxEventBlocks`. */
  accountEvents(
    types: readonly string[],
    from: bigint,
    to: bigint,
    signal: AbortSignal,
  ): Promise<readonly AccountEvent[]>;
  readonly maxEventBlocks: bigint;
}

/** How far each chain was read. */
export interface KeyWatchStore extends Pick<Heights, "lease"> {
  /** The accounts of these addresses of a chain, as far as they are ours. */
  managed(chainName: string, addresses: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /**
   * Moves the height and emits what was found, in one commit; false, and nothing done, where it was moved
   * before.
   */
  advance(chainName: string, heights: { from: bigint; to: bigint }, found: Found, now: Date): Promise<boolean>;
}

/** The changes found in a stretch of blocks. */
export interface Found {
  /** Accounts whose keys changed, by address, with the height of the newest change. */
  readonly changed: ReadonlyMap<string, bigint>;
  readonly alerts: readonly Alert[];
}

export interface WatchKeysOptions {
  readonly store: KeyWatchStore;
  readonly chain: KeyWatchChain;
  readonly lease: Lease;
  readonly actions: AlertActions;
  /** Receives alerts once they are committed. */
  readonly raised: (chainName: string, alerts: readonly Alert[]) => void;
}

/** Returns whether keys came or went; those that an account is created with are registered by its sign-up. */
const changesKeys = ({ addedKey, removedKeyIndex }: AccountEvent): boolean =>
  removedKeyIndex !== undefined || (addedKey !== undefined && addedKey.keyIndex > 1);

/**
 * Watches a chain for one round: reads the next range of blocks, emits whose keys changed, and raises an
 * alert for each event that no transaction of ours caused. Returns whether there is more to read at once.
 *
 * Writes: height, events and alerts, in one commit.
 * Crash: the height has not moved, so the next round reads the same blocks again. After the commit `raised`
 * may be missed; the events are not.
 * Race: the height moves from `from` only once, also where two replicas believe that they have the lease.
 */
export async function watchKeys(
  { store, chain, lease, actions, raised }: WatchKeysOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const { chainName } = chain;
  const latest = (await chain.latestBlock(signal)).height;
  const from = await store.lease(chainName, lease, latest);
  // A node that lags behind the one that was asked before: later.
  if (from === undefined || latest <= from) return false;
  const bound = from + chain.maxEventBlocks;
  const to = latest < bound ? latest : bound;
  const changed = new Map<string, bigint>();
  const events = await chain.accountEvents(typesToRead(actions), from + 1n, to, signal);
  for (const event of events.filter(changesKeys)) {
    const known = changed.get(event.address) ?? 0n;
    changed.set(event.address, event.height > known ? event.height : known);
  }
  const alerts = await findAlerts({ chain, managed: store.managed, actions }, events, latest, signal);
  const moved = await store.advance(chainName, { from, to }, { changed, alerts }, lease.now);
  if (moved && alerts.length > 0) raised(chainName, alerts);
  return moved && to < latest;
}
