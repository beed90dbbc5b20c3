import { AppError, limitIdOf } from "@countersign/core";
import type { AccessService } from "@countersign/proto/auth/v1/access.ts";
import type { AccountAccess } from "@countersign/proto/device/v1/devices.ts";
import { type CallContext, type Handlers, publicKeyToProto, requireToken } from "@countersign/rpc";
import { type RemoveDeviceOptions, removeDevice } from "../domain/access/remove-device.ts";
import { freezeAccount, type UnfreezeOptions, unfreezeAccount } from "../domain/freeze/freeze-account.ts";

type AccessOptions = UnfreezeOptions &
  RemoveDeviceOptions<CallContext, AccountAccess> & {
    /** Counts a request to lift a freeze by its account and key. Errors: RateLimited. */
    readonly limits: { unfreezes(id: string): void };
  };

/** Handles auth.v1.Access. */
export function accessHandlers(options: AccessOptions): Handlers<AccessService> {
  const freeze = freezeAccount(options);
  const unfreeze = unfreezeAccount(options);
  const remove = removeDevice(options);
  return {
    async freezeAccount(_, call) {
      await freeze(requireToken(call), call.requestId);
      return {};
    },

    async unfreezeAccount(_, call) {
      const token = requireToken(call);
      // Freezing, which has no limit, makes further events only after this. They would fill NATS, and hold up
      // the voiding of other accounts' templates.
      options.limits.unfreezes(limitIdOf(token));
      await unfreeze(token, call.requestId);
      return {};
    },

    async removeDevice({ publicKey }, call) {
      if (publicKey.length !== 32 && publicKey.length !== 64) throw new AppError("DeviceNotFound");
      return { publicKey: publicKeyToProto(await remove(requireToken(call), publicKey, call)) };
    },
  };
}
