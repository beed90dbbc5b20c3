import { hash } from "node:crypto";
import { AppError } from "@countersign/core";
import type { HistoryFacts } from "../policy/history-rules.ts";
import { type TimeLock, timeLockOf } from "../policy/time-lock.ts";
import type { TimeLockStore } from "./ports.ts";

export interface TimeLocking {
  readonly timeLocks: Pick<TimeLockStore, "startOrFind">;
  /** Returns a UUIDv7. */
  readonly newId: () => string;
}

/**
 * A rotation leaves the request the same: the account's first server key is in place of the present one. A
 * revocation is the session's own: what one young device waited for, another one must not use.
 */
function requestHashOf({ message, template, token }: HistoryFacts): string {
  const { serverKey, retiredServerKeys } = template.serviceKeys;
  const [first = serverKey] = retiredServerKeys;
  const session = template.name === "revoke-user-key" ? [token.accountKey.publicKey] : [];
  const request = JSON.stringify([message.script, ...message.arguments, ...session]);
  return hash("sha256", request.replaceAll(serverKey.publicKey, first.publicKey));
}

/**
 * Passes a template that needs no time lock, or whose time lock is over; starts the time lock of one that is
 * requested for the first time. The lock is an effect of its own, committed although the request is refused:
 * so it comes after all rules. Errors: TimeLockRequired with `availableAt`, TimeLockCancelled.
 */
export async function passTimeLock({ timeLocks, newId }: TimeLocking, facts: HistoryFacts): Promise<void> {
  const { account, template, now, timeLockPolicy } = facts;
  const lockMs = timeLockOf(facts)?.lockMs ?? 0;
  if (lockMs === 0) return;
  const availableAt = new Date(now.getTime() + lockMs);
  const requested: TimeLock = {
    id: newId(),
    accountId: account.accountId,
    chainName: account.chainName,
    operation: template.name,
    requestHash: requestHashOf(facts),
    startedAt: now,
    availableAt,
    lapsesAt: new Date(availableAt.getTime() + timeLockPolicy.goodForMs),
    cancelledAt: null,
    contestedSince: now,
  };
  const lock = await timeLocks.startOrFind(requested);
  if (lock.cancelledAt !== null) throw new AppError("TimeLockCancelled");
  if (now >= lock.availableAt) return;
  throw new AppError("TimeLockRequired", {
    retryAfterSeconds: Math.ceil((lock.availableAt.getTime() - now.getTime()) / 1000),
    metadata: { availableAt: lock.availableAt.toISOString(), timeLockId: lock.id },
  });
}
