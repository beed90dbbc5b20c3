import { setTimeout as sleep } from "node:timers/promises";
import { type Clock, isAppError, type Logger, uuidv4 } from "@countersign/core";
import type { SignUpStore } from "../domain/ports.ts";
import { SAGA_LEASE_MS } from "../domain/sign-up/sign-up.ts";
import { type Deployed, driveSignUp, type SignUpSaga, type SignUpSteps } from "../domain/sign-up/sign-up-saga.ts";

export interface SignUpRunnerOptions {
  readonly store: SignUpStore;
  readonly steps: SignUpSteps<Deployed>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const LOOK_MS = 2_000;
const WAIT_MS = 15_000;
const BATCH = 16;

/** Finishes the sign-ups whose request ended half-way, whichever replica had begun them. */
export function startSignUpRunner({ store, steps, clock, logger }: SignUpRunnerOptions) {
  const stop = new AbortController();

  async function finish(saga: SignUpSaga): Promise<void> {
    try {
      await driveSignUp(saga, {
        steps,
        mark: store.mark,
        now: () => clock.now(),
        waitMs: WAIT_MS,
        context: { requestId: uuidv4(), signal: stop.signal },
      });
    } catch (err) {
      if (isAppError(err, "DeploymentFailed")) await store.giveUp(saga).catch(() => undefined);
      // Everything else: the lease lapses and the saga is taken up again.
      if (!stop.signal.aborted) logger.warn({ err, accountId: saga.accountId }, "a sign-up is not finished yet");
    }
  }

  const looping = (async () => {
    while (!stop.signal.aborted) {
      try {
        const now = clock.now();
        const sagas = await store.leaseAbandoned(now, new Date(now.getTime() + SAGA_LEASE_MS), BATCH);
        await Promise.all(sagas.map(finish));
      } catch (err) {
        if (!stop.signal.aborted) logger.warn({ err }, "sign-ups wait");
      }
      await sleep(LOOK_MS, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  })();

  return {
    async close(): Promise<void> {
      stop.abort();
      await looping;
    },
  };
}
