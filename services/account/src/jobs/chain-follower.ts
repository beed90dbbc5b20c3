import type { Clock } from "@countersign/core";
import type { ServiceRuntime } from "@countersign/runtime";
import type { Lease, Leases } from "../domain/ports.ts";

export interface ChainFollowerOptions<C extends { readonly chainName: string }> {
  readonly every: ServiceRuntime["every"];
  /** Names the work in the log. */
  readonly job: string;
  readonly chains: ReadonlyMap<string, C>;
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

/** Follows every chain, each in one of the replicas. */
export function followChains<C extends { readonly chainName: string }>(options: ChainFollowerOptions<C>): void {
  const { every, job, chains, leases, owner, round, clock, pollMs } = options;
  for (const chain of chains.values()) {
    const once = async (signal: AbortSignal) => {
      const now = clock.now();
      const lease = { owner, now, until: new Date(now.getTime() + LEASE_MS + pollMs) };
      // The round asks the chain before it renews the lease: a replica that cannot reach the chain loses it.
      return (await leases.mayLease(chain.chainName, lease)) && round(chain, lease, signal);
    };
    every(pollMs, `${job} of ${chain.chainName}`, once, RETRY_MS);
  }
}
