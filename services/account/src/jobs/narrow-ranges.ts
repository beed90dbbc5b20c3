import type { ChainFollowerOptions } from "./chain-follower.ts";

/**
 * Reads half as many blocks after a failure, and twice as many after a success: events of many blocks may be
 * too much for one answer, and the range would only grow.
 */
export function narrowRanges<C extends { readonly chainName: string; readonly maxEventBlocks: bigint }>(
  round: ChainFollowerOptions<C>["round"],
): ChainFollowerOptions<C>["round"] {
  const ranges = new Map<string, bigint>();
  return async (chain, ...rest) => {
    const { chainName, maxEventBlocks: most } = chain;
    const range = ranges.get(chainName) ?? most;
    ranges.set(chainName, range / 2n || 1n);
    const more = await round({ ...chain, maxEventBlocks: range }, ...rest);
    ranges.set(chainName, range * 2n < most ? range * 2n : most);
    return more;
  };
}
