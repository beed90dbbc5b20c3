import { setTimeout as sleep } from "node:timers/promises";
import { type Clock, type Logger, uuidv4 } from "@countersign/core";
import { expireIfDue } from "../domain/two-factor/find-two-factor.ts";
import type { KeyAdditions, TwoFactorStore } from "../domain/two-factor/ports.ts";
import { settleTwoFactor } from "../domain/two-factor/reconcile-two-factor.ts";

export interface TwoFactorSweeperOptions {
  requests: TwoFactorStore;
  keyAdditions: KeyAdditions;
  clock: Clock;
  logger: Logger;
  /** Milliseconds between two looks. */
  everyMs?: number;
}

const BATCH = 50;
/** How long a replica has a request to itself, in milliseconds: one call to the account service. */
const LEASE_MS = 4_000;
/** E-mail and address of a request are kept this long after its end, in milliseconds. */
const KEPT_MS = 30 * 24 * 60 * 60 * 1000;
const FORGET_EVERY_MS = 60 * 60 * 1000;

/**
 * One look: lets overdue requests expire and asks what became of approvals. Any number of replicas may do it at once; each step is taken once.
 * Errors: of the database; what fails with one request is logged, and the request's turn comes again.
 */
export function sweepTwoFactor({ requests, keyAdditions, clock, logger }: TwoFactorSweeperOptions) {
  const ports = { requests, keyAdditions, clock };
  return async (): Promise<void> => {
    const now = clock.now();
    for (let due = await requests.due(now, BATCH); due.length > 0; ) {
      for (const request of due) await expireIfDue(ports, request, uuidv4());
      due = due.length < BATCH ? [] : await requests.due(now, BATCH);
    }
    const unsettled = await requests.leaseUnsettled(now, new Date(now.getTime() + LEASE_MS), BATCH);
    const settle = settleTwoFactor(ports);
    const results = await Promise.allSettled(unsettled.map((request) => settle(request, uuidv4())));
    for (const [index, result] of results.entries()) {
      if (result.status === "fulfilled") continue;
      logger.warn({ err: result.reason, twoFactorId: unsettled[index]?.id }, "an approval is not settled yet");
    }
  };
}

/** Looks again and again until closed. */
export function startTwoFactorSweeper(options: TwoFactorSweeperOptions) {
  const { requests, clock, logger, everyMs = 1_000 } = options;
  const stop = new AbortController();
  const sweep = sweepTwoFactor(options);
  let forgetAt = 0;

  async function look(): Promise<void> {
    await sweep();
    const now = clock.now().getTime();
    if (now < forgetAt) return;
    await requests.forget(new Date(now - KEPT_MS));
    forgetAt = now + FORGET_EVERY_MS;
  }

  const looping = (async () => {
    while (!stop.signal.aborted) {
      await look().catch((err) => logger.warn({ err }, "requests for approval wait"));
      await sleep(everyMs, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  })();

  return {
    async close(): Promise<void> {
      stop.abort();
      await looping;
    },
  };
}
