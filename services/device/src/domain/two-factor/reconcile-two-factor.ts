import { faultPoint } from "../../fault-points.ts";
import { expireIfDue, readTwoFactor } from "./find-two-factor.ts";
import type { TwoFactorPorts } from "./ports.ts";
import type { TwoFactor } from "./two-factor.ts";
import { approving, failing, givingUpAttempt, type Step, sealing } from "./two-factor-state.ts";

export type SettlePorts = Pick<TwoFactorPorts, "requests" | "keyAdditions" | "clock">;

/**
 * Asks the account service what became of a request's attempt, writes it down, and gives the request as it is then. Safe at any time and any
 * number of times: each step is taken only from the state that it leaves. Errors: what the account service says, when nothing is changed.
 */
export function settleTwoFactor(ports: SettlePorts) {
  return async (request: TwoFactor, requestId: string): Promise<TwoFactor> => {
    const { id, accountId, attemptId } = request;
    if (attemptId === null || !isUnsettled(request)) return request;
    const settlement = await ports.keyAdditions.settle({ accountId, attemptId });
    await faultPoint("outcome known");
    const now = ports.clock.now();
    const take = (step: Step) => ports.requests.take(id, step, { occurredAt: now, requestId });

    if (settlement.status === "abandoned") {
      // Nothing was submitted and nothing will be; an approved request cannot wait for that.
      await take(request.status === "pending" ? givingUpAttempt(attemptId) : failing(attemptId));
    } else {
      const { transaction } = settlement;
      await take(approving(attemptId, transaction, now));
      if (settlement.status === "sealed") {
        await take(sealing(attemptId, transaction, settlement.keyIndex, now));
        await faultPoint("seal committed");
      }
      if (settlement.status === "failed") await take(failing(attemptId));
    }
    return expireIfDue(ports, await readTwoFactor(ports, accountId, id), requestId);
  };
}

/** Settles an attempt whose outcome is overdue; one that is under way is left alone, since asking would end it. */
export async function settleIfDoubtful(ports: SettlePorts, request: TwoFactor, requestId: string): Promise<TwoFactor> {
  const doubtful = request.settleAt !== null && request.settleAt <= ports.clock.now();
  return doubtful ? settleTwoFactor(ports)(request, requestId) : request;
}

const isUnsettled = ({ status, sealedAt }: TwoFactor): boolean =>
  status === "pending" || (status === "approved" && sealedAt === null);
