import { AppError } from "@countersign/core";
import type { Session } from "../devices/device.ts";
import type { EventContext, TwoFactorPorts } from "./ports.ts";
import type { TwoFactor } from "./two-factor.ts";
import { expiring, guardHolds, type Step } from "./two-factor-state.ts";

/** A command about a 2FA request of the session's account. */
export interface OfTwoFactor {
  session: Session;
  /** The id of the 2FA request, or of one of its messages. */
  twoFactorId: string;
  /** The id of the call that is being answered (X-Request-Id), for logs and events. */
  requestId: string;
}

type ReadPorts = Pick<TwoFactorPorts, "requests" | "clock">;

/** Returns the account's request as the database has it. Errors: TwoFactorAuthNotFound. */
export async function readTwoFactor({ requests }: Pick<ReadPorts, "requests">, accountId: string, id: string) {
  const twoFactor = await requests.find(accountId, id);
  if (!twoFactor) throw new AppError("TwoFactorAuthNotFound");
  return twoFactor;
}

/** Expires an overdue request and returns it as it is then; returns every other one unchanged. */
export async function expireIfDue(ports: ReadPorts, twoFactor: TwoFactor, requestId: string): Promise<TwoFactor> {
  const now = ports.clock.now();
  const step = expiring(now);
  if (!guardHolds(twoFactor, step.when)) return twoFactor;
  const expired = await ports.requests.take(twoFactor.id, step, { occurredAt: now, requestId });
  return expired ?? readTwoFactor(ports, twoFactor.accountId, twoFactor.id);
}

/** Returns the account's request; an overdue one expires first, a write. Errors: TwoFactorAuthNotFound. */
export async function findTwoFactor(ports: ReadPorts, accountId: string, id: string, requestId: string) {
  return expireIfDue(ports, await readTwoFactor(ports, accountId, id), requestId);
}

/** Takes a step and returns the request as it is then: another step may have come first. */
export async function takeOrFind(ports: ReadPorts, { id, accountId }: TwoFactor, step: Step, context: EventContext) {
  return (await ports.requests.take(id, step, context)) ?? findTwoFactor(ports, accountId, id, context.requestId);
}
