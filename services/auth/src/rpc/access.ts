import { AppError } from "@countersign/core";
import type { AccessService } from "@countersign/proto/auth/v1/access.ts";
import type { AccountAccess } from "@countersign/proto/device/v1/devices.ts";
import { type CallContext, type Handlers, publicKeyToProto, requireToken } from "@countersign/rpc";
import { type RemoveDeviceOptions, removeDevice } from "../domain/access/remove-device.ts";
import { freezeAccount, type UnfreezeOptions, unfreezeAccount } from "../domain/freeze/freeze-account.ts";

/** Handles auth.v1.Access. */
export function accessHandlers(
  options: UnfreezeOptions & RemoveDeviceOptions<CallContext, AccountAccess>,
): Handlers<AccessService> {
  const freeze = freezeAccount(options);
  const unfreeze = unfreezeAccount(options);
  const remove = removeDevice(options);
  return {
    async freezeAccount(_, call) {
      await freeze(requireToken(call), call.requestId);
      return {};
    },

    async unfreezeAccount(_, call) {
      await unfreeze(requireToken(call), call.requestId);
      return {};
    },

    async removeDevice({ publicKey }, call) {
      if (publicKey.length !== 32 && publicKey.length !== 64) throw new AppError("DeviceNotFound");
      return { publicKey: publicKeyToProto(await remove(requireToken(call), publicKey, call)) };
    },
  };
}
