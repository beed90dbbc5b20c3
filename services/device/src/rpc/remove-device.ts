import type { RemoveDeviceRequest, RemoveDeviceResponse } from "@countersign/proto/device/v1/devices.ts";
import { type CallContext, publicKeyFromProto } from "@countersign/rpc";
import { z } from "zod";
import type { removeDevice } from "../domain/devices/remove-device.ts";
import { identityKey, parseRequest, sessionOf, toWireDevice } from "./messages.ts";

const shape = z.object({ publicKey: identityKey });

/** device.v1.Devices/RemoveDevice */
export const removeDeviceRpc =
  (remove: ReturnType<typeof removeDevice>) =>
  async (request: RemoveDeviceRequest, call: CallContext): Promise<RemoveDeviceResponse> => {
    const session = sessionOf(call);
    const { publicKey } = parseRequest(shape, request);
    const access = request.access?.chains.map((chain) => ({
      ...chain,
      deviceKeys: chain.deviceKeys.map((key) => publicKeyFromProto(key)),
    }));
    return { device: toWireDevice(await remove({ session, publicKey, access, requestId: call.requestId })) };
  };
