import type { reconcileServerKeyRotation } from "../domain/server-keys/reconcile-server-key-rotation.ts";
import type { ServerKeyRotationStore } from "../domain/server-keys/server-key-rotation.ts";

export interface OpenRotationsOptions {
  readonly rotations: Pick<ServerKeyRotationStore, "open">;
  readonly reconcile: ReturnType<typeof reconcileServerKeyRotation>;
}

const BATCH = 50;
const RECONCILE_MS = 10_000;

/**
 * Completes a chain's rotations whose request or process ended early: all, or those committed before a time,
 * some in each run. Idempotent, also at several replicas at once.
 */
export function reconcileOpenRotations({ rotations, reconcile }: OpenRotationsOptions) {
  /** How many of a chain's oldest ones the next run skips: later ones would wait for them. */
  const skips = new Map<string, number>();
  return async (chainName: string, stopping: AbortSignal, before?: Date): Promise<void> => {
    const skip = skips.get(chainName) ?? 0;
    const open = await rotations.open(chainName, BATCH, { before, skip });
    const signal = () => AbortSignal.any([stopping, AbortSignal.timeout(RECONCILE_MS)]);
    const results = await Promise.allSettled(open.map((rotation) => reconcile(rotation, signal())));
    const stayOpen = results.filter((result) => result.status === "rejected" || result.value === "submitted");
    skips.set(chainName, open.length < BATCH ? 0 : skip + stayOpen.length);
    const refused = results.find((result) => result.status === "rejected");
    if (refused) throw refused.reason;
  };
}
