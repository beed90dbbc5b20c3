import { type Clock, DAY_MS, HOUR_MS, type Logger, uuidv4 } from "@countersign/core";
import type { ServiceRuntime } from "@countersign/runtime";
import { expireIfDue } from "../domain/two-factor/find-two-factor.ts";
import type { KeyAdditions, TwoFactorStore } from "../domain/two-factor/ports.ts";
import { reconcileTwoFactor } from "../domain/two-factor/reconcile-two-factor.ts";

interface TwoFactorSweeperOptions {
  requests: TwoFactorStore;
  keyAdditions: KeyAdditions;
  clock: Clock;
  logger: Logger;
}

const SWEEP_MS = 1_000;
const BATCH = 50;
/** How long a replica has a request to itself. Several may ask a slow chain: each step is taken once. */
const LEASE_MS = 4_000;
/** How long a request, with its e-mail and IP address, is kept after its end. */
const RETENTION_MS = 30 * DAY_MS;

/**
 * Expires overdue requests and reconciles approvals, once. Any number of replicas may sweep concurrently;
 * each step is taken once. Errors: those of the database; an error with one request is logged, and it is
 * retried.
 */
export function sweepTwoFactor(options: TwoFactorSweeperOptions) {
  const { requests, clock, logger } = options;
  return async (): Promise<void> => {
    const now = clock.now();
    for (let due = await requests.due(now, BATCH); due.length > 0; ) {
      for (const request of due) await expireIfDue(options, request, uuidv4());
      due = due.length < BATCH ? [] : await requests.due(now, BATCH);
    }
    const unconfirmed = await requests.leaseUnconfirmed(now, new Date(now.getTime() + LEASE_MS), BATCH);
    const reconcile = reconcileTwoFactor(options);
    const results = await Promise.allSettled(unconfirmed.map((request) => reconcile(request, uuidv4())));
    for (const [index, result] of results.entries()) {
      if (result.status === "fulfilled") continue;
      const { id: twoFactorId, accountId } = unconfirmed[index]!;
      logger.warn({ err: result.reason, twoFactorId, accountId }, "approval not reconciled; will retry");
    }
  };
}

/** Starts the sweeps of this process, and once an hour deletes requests that ended long ago. */
export function startTwoFactorJobs(every: ServiceRuntime["every"], options: TwoFactorSweeperOptions): void {
  const { requests, clock } = options;
  every(SWEEP_MS, "two-factor sweep", sweepTwoFactor(options));
  every(HOUR_MS, "forget requests", () => requests.forget(new Date(clock.now().getTime() - RETENTION_MS)));
}
