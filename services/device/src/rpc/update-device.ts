import type { UpdateDeviceRequest, UpdateDeviceResponse } from "@countersign/proto/device/v1/devices.ts";
import type { CallContext } from "@countersign/rpc";
import type { DeviceChanges, updateDevice } from "../domain/devices/update-device.ts";
import { deviceAttributes, identityKey, parseRequest, sessionOf, text, toWireDevice } from "./messages.ts";

const shape = deviceAttributes.omit({ type: true }).partial().extend({ publicKey: identityKey, id: text().optional() });

/** device.v1.Devices/UpdateDevice */
export const updateDeviceRpc =
  (update: ReturnType<typeof updateDevice>) =>
  async (request: UpdateDeviceRequest, call: CallContext): Promise<UpdateDeviceResponse> => {
    const session = sessionOf(call);
    const { publicKey, id, ...fields } = parseRequest(shape, request);
    // Absent fields of a decoded message are there as undefined.
    const present = Object.entries(fields).filter(([, value]) => value !== undefined);
    const changes: DeviceChanges = Object.fromEntries(present);
    const device = await update({ session, publicKey, id, changes, requestId: call.requestId });
    return { device: toWireDevice(device) };
  };
