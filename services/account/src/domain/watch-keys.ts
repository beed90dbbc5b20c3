import { faultPoint } from "../fault-points.ts";
import type { Lease } from "./ports.ts";

/** A key that was added to or revoked from an account, whoever's. */
export interface KeyEvent {
  /** 16 hex digits. */
  readonly address: string;
  readonly keyIndex: number;
  readonly kind: "added" | "revoked";
  readonly height: bigint;
}

/** What watching keys needs of a chain. */
export interface KeyWatchChain {
  readonly chainName: string;
  latestBlock(signal: AbortSignal): Promise<{ height: bigint }>;
  /** Key events of these blocks, both ends included; at most `maxEventBlocks`. */
  keyEvents(from: bigint, to: bigint, signal: AbortSignal): Promise<readonly KeyEvent[]>;
  readonly maxEventBlocks: bigint;
}

/** How far each chain was read. */
export interface KeyWatchStore {
  /** Takes or renews a chain's lease and gives the height that is told; undefined while somebody else has it. A new chain begins at `begin`. */
  lease(chainName: string, lease: Lease, begin: bigint): Promise<bigint | undefined>;
  /** Moves the height and tells of the accounts whose keys changed, in one commit; false, and nothing done, where somebody has moved it before. */
  advance(
    chainName: string,
    heights: { from: bigint; to: bigint },
    changed: ReadonlyMap<string, bigint>,
    now: Date,
  ): Promise<boolean>;
}

/** The keys that an account is created with are registered by its sign-up. */
const isOfCreation = ({ kind, keyIndex }: KeyEvent): boolean => kind === "added" && keyIndex <= 1;

/**
 * One round of watching a chain: reads the next stretch of blocks and tells whose keys changed in it. The height moves in the commit that tells, so a restart neither
 * loses a change nor depends on the lease. Gives whether there is more to read at once.
 */
export async function watchKeys(
  { store, chain, lease }: { store: KeyWatchStore; chain: KeyWatchChain; lease: Lease },
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
  for (const event of await chain.keyEvents(from + 1n, to, signal)) {
    const known = changed.get(event.address) ?? 0n;
    if (!isOfCreation(event)) changed.set(event.address, event.height > known ? event.height : known);
  }
  if (changed.size > 0) await faultPoint("events read");
  const moved = await store.advance(chainName, { from, to }, changed, lease.now);
  if (moved && changed.size > 0) await faultPoint("change told");
  return moved && to < latest;
}
