import { NIL_UUID } from "@countersign/core";
import type { BuildOptions } from "./build-checkpoint.ts";
import { type ChainEnd, endedBy, readCheckpoint, type SignedCheckpoint } from "./checkpoint.ts";
import type { CheckpointStore } from "./checkpoint-store.ts";

/** So many closed chains are compared at once, and so often; then the next ones, and all over again. */
const CLOSED_PER_LOOK = 1000;
const CLOSED_LOOK_MS = 60_000;

/** Returns what compares the next closed chains with the checkpoints that closed them, once a minute. */
export function createClosedComparison(
  store: Pick<CheckpointStore, "closedChains">,
  { signer, alarm }: Pick<BuildOptions, "signer" | "alarm">,
): () => Promise<void> {
  let [comparedAt, comparedTo] = [Number.NEGATIVE_INFINITY, NIL_UUID];
  return async () => {
    if (performance.now() - comparedAt < CLOSED_LOOK_MS) return;
    comparedAt = performance.now();
    const chains = await store.closedChains(comparedTo, CLOSED_PER_LOOK);
    let [read, closed]: [SignedCheckpoint | undefined, readonly ChainEnd[] | undefined] = [undefined, undefined];
    for (const { chainId, size, hash, checkpoint } of chains) {
      // Chains that were closed together are mostly next to each other.
      if (checkpoint !== read) {
        await new Promise(setImmediate);
        const signed = checkpoint && readCheckpoint(checkpoint, signer.keys);
        closed = signed && endedBy(signed);
        read = checkpoint;
      }
      const isSame = closed?.some((end) => end.chainId === chainId && end.size === size && end.hash === hash);
      if (!isSame) alarm({ chainId }, "a closed chain is not as the checkpoint that closed it says");
    }
    comparedTo = chains.length < CLOSED_PER_LOOK ? NIL_UUID : chains.at(-1)!.chainId;
  };
}
