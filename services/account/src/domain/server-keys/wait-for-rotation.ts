import { type Logger, sleepUntil } from "@countersign/core";
import type { reconcileServerKeyRotation } from "./reconcile-server-key-rotation.ts";
import type { ServerKeyRotation } from "./server-key-rotation.ts";

const WAIT_MS = 7_000;
const LOOK_MS = 200;

/**
 * Reconciles a rotation in the request that made it, so that the signer follows the chain at once. False: not
 * within seven seconds; the job continues.
 */
export const waitForRotation =
  (reconcile: ReturnType<typeof reconcileServerKeyRotation>, logger: Pick<Logger, "warn">) =>
  async (rotation: ServerKeyRotation, signal: AbortSignal): Promise<boolean> => {
    const ending = AbortSignal.any([signal, AbortSignal.timeout(WAIT_MS)]);
    while (!ending.aborted) {
      const state = await reconcile(rotation, ending).catch((err: unknown) => {
        if (!ending.aborted) {
          const { accountId, chainName, transactionId } = rotation;
          logger.warn({ err, accountId, chainName, transactionId }, "a rotation is not reconciled yet; will retry");
        }
        return "submitted" as const;
      });
      if (state !== "submitted") return state === "sealed";
      await sleepUntil(LOOK_MS, [ending]);
    }
    return false;
  };
