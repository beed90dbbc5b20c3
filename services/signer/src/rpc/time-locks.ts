import { AppError, isUuid } from "@countersign/core";
import type { TimeLocksService, TimeLock as WireTimeLock } from "@countersign/proto/signer/v1/time_locks.ts";
import type { Handlers } from "@countersign/rpc";
import type { Commands } from "../domain/commands.ts";
import type { TimeLock } from "../policy/time-lock.ts";

const timeLockToProto = ({ cancelledAt, ...lock }: TimeLock): WireTimeLock => {
  const { id, operation, chainName, startedAt, availableAt } = lock;
  return { id, operation, chainName, startedAt, availableAt, cancelledAt: cancelledAt ?? undefined };
};

/** Handles signer.v1.TimeLocks. */
export const timeLocksHandlers = (commands: Commands): Handlers<TimeLocksService> => ({
  async listTimeLocks({ accountId }) {
    if (!isUuid(accountId)) throw new AppError("AccountNotFound");
    return { timeLocks: (await commands.listTimeLocks(accountId)).map(timeLockToProto) };
  },

  async cancelTimeLock({ accountId, id, deviceCreatedAt }, { requestId }) {
    if (!isUuid(accountId) || !isUuid(id)) throw new AppError("TimeLockNotFound");
    if (!deviceCreatedAt) throw new AppError("InvalidRequest", { detail: "deviceCreatedAt is missing" });
    return { timeLock: timeLockToProto(await commands.cancelTimeLock({ accountId, id, deviceCreatedAt, requestId })) };
  },
});
