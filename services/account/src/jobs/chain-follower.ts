import { type Clock, type Logger, sleepUntil, uuidv4 } from "@countersign/core";
import type { Lease } from "../domain/ports.ts";

export interface ChainFollowerOptions<C extends { readonly chainName: string }> {
  readonly component: string;
  readonly chains: ReadonlyMap<string, C>;
  /** One look at a chain; gives whether there is more to read at once. */
  round(chain: C, lease: Lease, signal: AbortSignal): Promise<boolean>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Milliseconds between looks at a chain that has nothing new. */
  readonly pollMs: number;
}

/** Only spares the others the work: the height alone decides what is told. Short, so that a restart goes on at once. */
const LEASE_MS = 2_500;
const RETRY_MS = 1_000;

/** Follows every chain, in one of the replicas. */
export function followChains<C extends { readonly chainName: string }>(options: ChainFollowerOptions<C>) {
  const { component, chains, round, clock, logger, pollMs } = options;
  const owner = uuidv4();
  const stop = new AbortController();

  async function follow(chain: C): Promise<void> {
    let failed = false;
    while (!stop.signal.aborted) {
      const now = clock.now();
      const lease = { owner, now, until: new Date(now.getTime() + LEASE_MS + pollMs) };
      try {
        const more = await round(chain, lease, stop.signal);
        if (failed) logger.info({ component }, `reads ${chain.chainName} again`);
        failed = false;
        if (!more) await sleepUntil(pollMs, [stop.signal]);
      } catch (err) {
        // Once, and not each second of a node's absence.
        if (!failed && !stop.signal.aborted) logger.warn({ err, component }, `${chain.chainName} has to wait`);
        failed = true;
        await sleepUntil(RETRY_MS, [stop.signal]);
      }
    }
  }
  const following = Promise.all([...chains.values()].map(follow));

  return {
    async close() {
      stop.abort();
      await following;
    },
  };
}
