import type { reconcileServerKeyRotation } from "../domain/server-keys/reconcile-server-key-rotation.ts";
import type { ServerKeyRotationStore } from "../domain/server-keys/server-key-rotation.ts";

export interface OpenRotationsOptions {
  readonly rotations: Pick<ServerKeyRotationStore, "open">;
  readonly reconcile: ReturnType<typeof reconcileServerKeyRotation>;
}

const BATCH = 50;
const RECONCILE_MS = 10_000;

/**
 * Completes a chain's rotations whose request or process ended early: all, or those committed before a time.
 * Idempotent, also at several replicas at once.
 */
export function reconcileOpenRotations({ rotations, reconcile }: OpenRotationsOptions) {
  return async (chainName: string, stopping: AbortSignal, before?: Date): Promise<void> => {
    const open = await rotations.open(chainName, BATCH, before);
    const signal = () => AbortSignal.any([stopping, AbortSignal.timeout(RECONCILE_MS)]);
    const results = await Promise.allSettled(open.map((rotation) => reconcile(rotation, signal())));
    const refused = results.find((result) => result.status === "rejected");
    if (refused) throw refused.reason;
  };
}
