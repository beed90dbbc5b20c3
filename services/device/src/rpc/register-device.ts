import type { RegisterDeviceRequest, RegisterDeviceResponse } from "@countersign/proto/device/v1/devices.ts";
import type { CallContext } from "@countersign/rpc";
import { z } from "zod";
import type { registerDevice } from "../domain/devices/register-device.ts";
import { deviceAttributes, parseRequest, publicKey, toWireDevice, uuid } from "./messages.ts";

const shape = z.object({
  accountId: uuid,
  deviceId: uuid,
  publicKey: publicKey("/publicKey"),
  attributes: deviceAttributes,
});

/** device.v1.Devices/RegisterDevice */
export const registerDeviceRpc =
  (register: ReturnType<typeof registerDevice>) =>
  async (request: RegisterDeviceRequest, call: CallContext): Promise<RegisterDeviceResponse> => {
    const command = parseRequest(shape, request);
    return { device: toWireDevice(await register({ ...command, requestId: call.requestId })) };
  };
