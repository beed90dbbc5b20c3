import { AppError } from "@countersign/errors";
import type { DelaysService } from "@countersign/proto/device/v1/delays.ts";
import { type Handlers, isUuid, requireToken } from "@countersign/service-kit";
import { cancelDelay, type Delays } from "../domain/cancel-delay.ts";
import type { DeviceStore } from "../domain/ports.ts";

/** device.v1.Delays */
export function delaysHandlers(options: {
  store: Pick<DeviceStore, "listLive">;
  delays: Delays;
}): Handlers<DelaysService> {
  const cancel = cancelDelay(options);
  return {
    async listDelays(_, call) {
      return { delays: await options.delays.list(requireToken(call).accountId, call.requestId) };
    },
    async cancelDelay({ id }, call) {
      if (!isUuid(id)) throw new AppError("DelayNotFound");
      const { accountId, sessionKey } = requireToken(call);
      await cancel({ session: { accountId, sessionKey }, id, requestId: call.requestId });
      return {};
    },
  };
}
