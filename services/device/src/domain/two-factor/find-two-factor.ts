import { AppError } from "@countersign/core";
import type { Session } from "../devices/device.ts";
import type { TwoFactorPorts } from "./ports.ts";
import type { TwoFactor } from "./two-factor.ts";
import { expiring, guardHolds } from "./two-factor-state.ts";

/** A request of the session's account, named by its id or any of its request ids. */
export interface OfTwoFactor {
  session: Session;
  id: string;
  requestId: string;
}

type Reading = Pick<TwoFactorPorts, "requests" | "clock">;

/** The request as the database has it now. Errors: TwoFactorAuthNotFound. */
export async function readTwoFactor({ requests }: Pick<Reading, "requests">, accountId: string, id: string) {
  const request = await requests.find(accountId, id);
  if (!request) throw new AppError("TwoFactorAuthNotFound");
  return request;
}

/** An overdue request expires by being looked at; everything else is given back as it is. */
export async function expireIfDue(ports: Reading, request: TwoFactor, requestId: string): Promise<TwoFactor> {
  const now = ports.clock.now();
  const step = expiring(now);
  if (!guardHolds(request, step.when)) return request;
  const expired = await ports.requests.take(request.id, step, { occurredAt: now, requestId });
  return expired ?? readTwoFactor(ports, request.accountId, request.id);
}

/** The account's request as it stands at this moment. Errors: TwoFactorAuthNotFound. */
export async function findTwoFactor(ports: Reading, accountId: string, id: string, requestId: string) {
  return expireIfDue(ports, await readTwoFactor(ports, accountId, id), requestId);
}
