import type { ChainFollowerOptions } from "./chain-follower.ts";

/** Returns whether an error is an AccessApiError without an answer, also one that was too long. */
const isUnanswered = (error: unknown): boolean => (error as { status?: unknown }).status === 0;

/**
 * Reads half as many blocks at once after a failure, and twice as many after a success: events of many blocks
 * may be too much for one answer, and the range would only grow. Of several blocks, a missing answer is not
 * thrown, and the next round begins at once: where somebody fills each block, every second one would wait.
 */
export function narrowRanges<C extends { readonly chainName: string; readonly maxEventBlocks: bigint }>(
  round: ChainFollowerOptions<C>["round"],
): ChainFollowerOptions<C>["round"] {
  const ranges = new Map<string, bigint>();
  return async (chain, ...rest) => {
    const { chainName, maxEventBlocks: most } = chain;
    const range = ranges.get(chainName) ?? most;
    ranges.set(chainName, range / 2n || 1n);
    const more = await round({ ...chain, maxEventBlocks: range }, ...rest).catch((error: unknown) => {
      if (range === 1n || !isUnanswered(error)) throw error;
    });
    if (more === undefined) return true;
    ranges.set(chainName, range * 2n < most ? range * 2n : most);
    return more;
  };
}
