import { AppError } from "@countersign/core";
import type { AccessService } from "@countersign/proto/auth/v1/access.ts";
import type { AccountAccess } from "@countersign/proto/device/v1/devices.ts";
import { type CallContext, type Handler, publicKeyToProto, requireToken } from "@countersign/rpc";
import type { removeDevice } from "../domain/access/remove-device.ts";

/** auth.v1.Access/RemoveDevice */
export const removeDeviceRpc =
  (command: ReturnType<typeof removeDevice<CallContext, AccountAccess>>): Handler<AccessService["removeDevice"]> =>
  async ({ publicKey }, call) => {
    if (publicKey.length !== 32 && publicKey.length !== 64) throw new AppError("DeviceNotFound");
    return { publicKey: publicKeyToProto(await command(requireToken(call), publicKey, call)) };
  };
