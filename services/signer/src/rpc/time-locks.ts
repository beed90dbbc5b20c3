import { AppError, type Clock, isUuid } from "@countersign/core";
import type { TimeLocksService, TimeLock as WireTimeLock } from "@countersign/proto/signer/v1/time_locks.ts";
import type { Handlers } from "@countersign/rpc";
import type { cancelTimeLock } from "../domain/cancel-time-lock.ts";
import type { TimeLockStore } from "../domain/ports.ts";
import type { TimeLock } from "../policy/time-lock.ts";

const toWire = ({ id, operation, chainName, startedAt, availableAt, cancelledAt }: TimeLock): WireTimeLock => ({
  id,
  operation,
  chainName,
  startedAt,
  availableAt,
  cancelledAt: cancelledAt ?? undefined,
});

/** signer.v1.TimeLocks */
export const timeLockRpcs = (
  timeLocks: Pick<TimeLockStore, "list">,
  cancel: ReturnType<typeof cancelTimeLock>,
  clock: Clock,
): Handlers<TimeLocksService> => ({
  async listTimeLocks({ accountId }) {
    if (!isUuid(accountId)) throw new AppError("AccountNotFound");
    return { timeLocks: (await timeLocks.list(accountId, clock.now())).map(toWire) };
  },
  async cancelTimeLock({ accountId, id, deviceCreatedAt }, { requestId }) {
    if (!isUuid(accountId) || !isUuid(id)) throw new AppError("TimeLockNotFound");
    if (!deviceCreatedAt) throw new AppError("InvalidRequest", { detail: "no device" });
    return { timeLock: toWire(await cancel({ accountId, id, deviceCreatedAt, requestId })) };
  },
});
