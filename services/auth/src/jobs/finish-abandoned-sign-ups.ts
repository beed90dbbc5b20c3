import { type Clock, isAppError, type Logger, uuidv4 } from "@countersign/core";
import {
  type Deployed,
  driveSignUp,
  type SignUpSaga,
  type SignUpSteps,
  type SignUpStore,
} from "../domain/sign-up/sign-up-saga.ts";

interface AbandonedSignUpsOptions {
  readonly store: Pick<SignUpStore, "mark" | "giveUp" | "leaseAbandoned">;
  readonly steps: SignUpSteps<Deployed>;
  readonly clock: Clock;
  readonly logger: Pick<Logger, "warn">;
}

/** Short: the next batch begins when this one has ended, also where the chain stands still. */
const DEPLOYMENT_WAIT_MS = 1_000;
/**
 * Longer than a run takes with its calls' deadlines, of some ten seconds. A sign-up whose account is not on
 * chain yet continues then.
 */
const LEASE_MS = 20_000;
const BATCH = 16;

/**
 * Finishes the sign-ups whose request ended before they did, in any replica. Starts no second attempt of a
 * deployment that the chain refused: that is for the person's next request (ADR 11). So is a sign-up of a
 * chain that is no longer configured: it could not end, and an erasure would wait for it.
 */
export function finishAbandonedSignUps({ store, steps, clock, logger }: AbandonedSignUpsOptions) {
  async function finish(saga: SignUpSaga, signal: AbortSignal): Promise<void> {
    try {
      const context = { requestId: uuidv4(), signal };
      const { mark } = store;
      await driveSignUp(saga, { steps, mark, clock, waitMs: DEPLOYMENT_WAIT_MS, keepFailed: true, context });
    } catch (err) {
      if (isAppError(err, "DeploymentFailed", "UnknownChain")) await store.giveUp(saga).catch(() => undefined);
      // After any other error the lease ends and a later run continues the saga.
      const { accountId, chainName } = saga;
      if (!signal.aborted) logger.warn({ err, accountId, chainName }, "sign-up is not finished yet; will retry");
    }
  }

  return async (signal: AbortSignal): Promise<void> => {
    const now = clock.now();
    const sagas = await store.leaseAbandoned(now, new Date(now.getTime() + LEASE_MS), BATCH);
    await Promise.all(sagas.map((saga) => finish(saga, signal)));
  };
}
