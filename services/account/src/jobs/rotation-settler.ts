import { type Logger, sleepUntil } from "@countersign/core";
import type { ServerKeyRotationStore } from "../domain/server-key-rotation.ts";
import type { settleServerKeyRotation } from "../domain/settle-server-key-rotation.ts";

export interface RotationSettlerOptions {
  readonly rotations: Pick<ServerKeyRotationStore, "open">;
  readonly settle: ReturnType<typeof settleServerKeyRotation>;
  readonly logger: Logger;
}

/** Between two looks: the signer uses an old key that long after it is gone, and clients ask again. */
const POLL_MS = 500;
const RETRY_MS = 2_000;
const AT_ONCE = 50;
const SETTLE_MS = 10_000;

/** Brings rotations to their end whose request is over or whose process was killed. In every replica: settling twice changes nothing. */
export function startRotationSettler({ rotations, settle, logger }: RotationSettlerOptions) {
  const stop = new AbortController();

  async function run(): Promise<void> {
    let failed = false;
    while (!stop.signal.aborted) {
      try {
        const open = await rotations.open(AT_ONCE);
        const signal = () => AbortSignal.any([stop.signal, AbortSignal.timeout(SETTLE_MS)]);
        const results = await Promise.allSettled(open.map((rotation) => settle(rotation, signal())));
        const refused = results.find((result) => result.status === "rejected");
        if (refused) throw refused.reason;
        failed = false;
        await sleepUntil(POLL_MS, [stop.signal]);
      } catch (err) {
        // Once, and not at each look of a node's absence.
        if (!failed && !stop.signal.aborted) logger.warn({ err, component: "rotation-settler" }, "rotations wait");
        failed = true;
        await sleepUntil(RETRY_MS, [stop.signal]);
      }
    }
  }
  const running = run();

  return {
    async close() {
      stop.abort();
      await running;
    },
  };
}
