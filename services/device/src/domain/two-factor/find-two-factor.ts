import { AppError } from "@countersign/core";
import type { Session } from "../devices/device.ts";
import type { TwoFactorPorts } from "./ports.ts";
import type { TwoFactor } from "./two-factor.ts";
import { expiring, guardHolds } from "./two-factor-state.ts";

/** A request of the session's account, named by its id or by the id of one of its messages. */
export interface OfTwoFactor {
  session: Session;
  id: string;
  /** Of the call that is being answered, for logs and events. */
  requestId: string;
}

type ReadPorts = Pick<TwoFactorPorts, "requests" | "clock">;

/** Returns the account's request as the database has it. Errors: TwoFactorAuthNotFound. */
export async function readTwoFactor({ requests }: Pick<ReadPorts, "requests">, accountId: string, id: string) {
  const request = await requests.find(accountId, id);
  if (!request) throw new AppError("TwoFactorAuthNotFound");
  return request;
}

/** Expires an overdue request and returns it as it is then; returns every other one unchanged. */
export async function expireIfDue(ports: ReadPorts, request: TwoFactor, requestId: string): Promise<TwoFactor> {
  const now = ports.clock.now();
  const step = expiring(now);
  if (!guardHolds(request, step.when)) return request;
  const expired = await ports.requests.take(request.id, step, { occurredAt: now, requestId });
  return expired ?? readTwoFactor(ports, request.accountId, request.id);
}

/** Returns the account's request, expired if it is overdue. Errors: TwoFactorAuthNotFound. */
export async function findTwoFactor(ports: ReadPorts, accountId: string, id: string, requestId: string) {
  return expireIfDue(ports, await readTwoFactor(ports, accountId, id), requestId);
}
