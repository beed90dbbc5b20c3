import { limitIdOf, limitPerMinute } from "@countersign/core";
import type { DevicesService } from "@countersign/proto/device/v1/devices.ts";
import {
  deviceAttributes,
  type Handlers,
  parseRequest,
  publicKeyField,
  publicKeyFromProto,
  requireToken,
  textField,
  uuidField,
} from "@countersign/rpc";
import { z } from "zod";
import { type RegisterDeviceOptions, registerDevice } from "../domain/devices/register-device.ts";
import { removeDevice } from "../domain/devices/remove-device.ts";
import { type DeviceChanges, updateDevice } from "../domain/devices/update-device.ts";
import { identityKey, sessionOf, toWireDevice } from "./conversions.ts";

const registerShape = z.object({
  accountId: uuidField,
  deviceId: uuidField,
  publicKey: publicKeyField("/publicKey"),
  attributes: deviceAttributes,
});

const updateShape = deviceAttributes
  .omit({ type: true })
  .partial()
  .extend({ publicKey: identityKey, id: textField().optional() });

const removeShape = z.object({ publicKey: identityKey });

interface DevicesOptions extends RegisterDeviceOptions {
  /** Of one device and replica: NATS keeps the events of changes for a week. */
  updatesPerMinute: number;
}

/** Handles device.v1.Devices. */
export function devicesHandlers(options: DevicesOptions): Handlers<DevicesService> {
  const limit = limitPerMinute(options.clock);
  const register = registerDevice(options);
  const update = updateDevice(options);
  const remove = removeDevice(options);
  return {
    async registerDevice(request, { requestId }) {
      return { device: toWireDevice(await register({ ...parseRequest(registerShape, request), requestId })) };
    },

    async listDevices(_, call) {
      const { accountId, deviceKey } = sessionOf(call);
      const devices = await options.store.listLive(accountId);
      return { devices: devices.map((device) => toWireDevice(device, deviceKey)) };
    },

    async updateDevice(request, call) {
      const session = sessionOf(call);
      limit(limitIdOf(requireToken(call)), options.updatesPerMinute);
      const { publicKey, id, ...fields } = parseRequest(updateShape, request);
      // A decoded message has its absent fields as undefined.
      const present = Object.entries(fields).filter(([, value]) => value !== undefined);
      const changes: DeviceChanges = Object.fromEntries(present);
      const device = await update({ session, publicKey, id, changes, requestId: call.requestId });
      return { device: toWireDevice(device, session.deviceKey) };
    },

    async removeDevice(request, call) {
      const session = sessionOf(call);
      const { publicKey } = parseRequest(removeShape, request);
      const access = request.access?.chains.map((chain) => ({
        ...chain,
        deviceKeys: chain.deviceKeys.map((key) => publicKeyFromProto(key)),
      }));
      return { device: toWireDevice(await remove({ session, publicKey, access, requestId: call.requestId })) };
    },
  };
}
