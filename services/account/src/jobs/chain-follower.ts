import type { Clock } from "@countersign/core";
import type { ServiceRuntime } from "@countersign/runtime";
import type { Lease, Leases } from "../domain/ports.ts";

export interface ChainFollowerOptions<C extends { readonly chainName: string }> {
  readonly every: ServiceRuntime["every"];
  /** Names the work in the log. */
  readonly job: string;
  /** May change. */
  readonly chains: ReadonlyMap<string, C>;
  /** Calls `start` with the name of each chain that is added later. */
  readonly onAdded: (start: (chainName: string) => void) => void;
  readonly leases: Leases;
  /** This process, in the leases. */
  readonly owner: string;
  /** Reads a chain once. Returns whether there is more to read at once. */
  round(chain: C, lease: Lease, signal: AbortSignal): Promise<boolean>;
  readonly clock: Clock;
  /** Milliseconds between two rounds of a chain that has nothing new. */
  readonly pollMs: number;
}

/**
 * The lease saves other replicas the work; the stored height decides what was read. Short, for quick
 * restarts.
 */
const LEASE_MS = 2_500;
const RETRY_MS = 1_000;

/** Calls `start` for each chain, also for those that are added later, once for each name. */
export function forEachChain(
  { chains, onAdded }: Pick<ChainFollowerOptions<never>, "onAdded"> & { chains: ReadonlyMap<string, unknown> },
  start: (chainName: string) => void,
): void {
  const started = new Set<string>();
  const once = (chainName: string): void => {
    if (started.has(chainName)) return;
    started.add(chainName);
    start(chainName);
  };
  for (const chainName of chains.keys()) once(chainName);
  onAdded(once);
}

/** Follows every chain, each in one of the replicas. */
export function followChains<C extends { readonly chainName: string }>(options: ChainFollowerOptions<C>): void {
  const { every, job, chains, leases, owner, round, clock, pollMs } = options;
  forEachChain(options, (chainName) => {
    const once = async (signal: AbortSignal) => {
      const chain = chains.get(chainName);
      if (chain === undefined || !(await leases.mayLease(chainName, owner))) return false;
      const now = clock.now();
      const lease = { owner, now, until: new Date(now.getTime() + LEASE_MS + pollMs) };
      // The round asks the chain before it renews the lease: a replica that cannot reach the chain loses it.
      return round(chain, lease, signal);
    };
    every(pollMs, `${job} of ${chainName}`, once, RETRY_MS);
  });
}
