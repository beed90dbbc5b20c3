import { expireIfDue, readTwoFactor } from "./find-two-factor.ts";
import type { TwoFactorPorts } from "./ports.ts";
import type { TwoFactor } from "./two-factor.ts";
import { abandoningAttempt, failing, isUnconfirmed, markingApproved, type Step, sealing } from "./two-factor-state.ts";

type ReconcilePorts = Pick<TwoFactorPorts, "requests" | "keyAdditions" | "clock">;

/**
 * Asks the account service for the outcome of a request's attempt, records it, and returns the request as it
 * is then. Idempotent and safe at any time: each step is taken only from the state that it leaves.
 * Errors: those of the account service; nothing is changed then.
 */
export function reconcileTwoFactor(ports: ReconcilePorts) {
  return async (request: TwoFactor, requestId: string): Promise<TwoFactor> => {
    const { id, accountId, attemptId } = request;
    if (attemptId === null || !isUnconfirmed(request)) return request;
    const outcome = await ports.keyAdditions.reconcile({ accountId, attemptId });
    const now = ports.clock.now();
    const take = (step: Step) => ports.requests.take(id, step, { occurredAt: now, requestId });

    if (outcome.status === "abandoned") {
      // Nothing was submitted and nothing will be, so an approved request has failed.
      await take(request.status === "pending" ? abandoningAttempt(attemptId) : failing(attemptId));
    } else {
      const { transaction } = outcome;
      await take(markingApproved(attemptId, transaction, now));
      if (outcome.status === "sealed") {
        await take(sealing(attemptId, transaction, outcome.keyIndex, now));
      }
      if (outcome.status === "failed") await take(failing(attemptId));
    }
    return expireIfDue(ports, await readTwoFactor(ports, accountId, id), requestId);
  };
}

/**
 * Reconciles an attempt once its `reconcileAt` has come; earlier, asking would end an attempt that is under
 * way.
 */
export async function reconcileIfUnconfirmed(
  ports: ReconcilePorts,
  request: TwoFactor,
  requestId: string,
): Promise<TwoFactor> {
  const isDue = request.reconcileAt !== null && request.reconcileAt <= ports.clock.now();
  return isDue ? reconcileTwoFactor(ports)(request, requestId) : request;
}
