import { AppError, isUuid } from "@countersign/core";
import type { TimeLocksService } from "@countersign/proto/device/v1/time_locks.ts";
import type { Handlers } from "@countersign/rpc";
import type { DeviceStore } from "../domain/devices/device-store.ts";
import { cancelTimeLock, type TimeLocks } from "../domain/time-locks/cancel-time-lock.ts";
import { sessionOf } from "./conversions.ts";

/** Handles device.v1.TimeLocks. */
export function timeLocksHandlers(options: {
  store: Pick<DeviceStore, "listLive">;
  timeLocks: TimeLocks;
}): Handlers<TimeLocksService> {
  const cancel = cancelTimeLock(options);
  return {
    async listTimeLocks(_, call) {
      return { timeLocks: await options.timeLocks.list(sessionOf(call).accountId, call.requestId) };
    },
    async cancelTimeLock({ id }, call) {
      if (!isUuid(id)) throw new AppError("TimeLockNotFound");
      await cancel({ session: sessionOf(call), id, requestId: call.requestId });
      return {};
    },
  };
}
