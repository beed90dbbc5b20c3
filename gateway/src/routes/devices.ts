import { Algorithm } from "@countersign/http-api/formats.ts";
import { DeviceChange, PublicKeyInput } from "@countersign/http-api/requests.ts";
import { Device } from "@countersign/http-api/resources.ts";
import { z } from "zod";
import type { Services } from "../clients.ts";
import { type Route, route } from "../http/route.ts";
import { toDevice } from "./mapping/device.ts";
import { fromRegisteredKey } from "./mapping/public-key.ts";
import { repeatable } from "./rpc.ts";

/** A device in a path: its identity key. `algorithm` matters for compressed points only. */
const oneDevice = {
  params: z.object({ publicKey: PublicKeyInput }),
  query: z.object({ algorithm: Algorithm.optional() }),
};

export const deviceRoutes = ({ devices, access }: Services): Route[] => [
  route({
    method: "get",
    path: "/device/v1/devices",
    operationId: "listDevices",
    summary: "The account's devices, most recently used first",
    token: "user",
    recover: true,
    response: z.object({ devices: z.array(Device) }),
    handler: async (_input, call) => {
      const answer = await devices.listDevices({}, repeatable(call));
      return { devices: answer.devices.map(toDevice) };
    },
  }),
  route({
    method: "put",
    path: "/device/v1/devices/{publicKey}",
    operationId: "updateDevice",
    summary: "Changes what is present in the body",
    token: "user",
    request: { ...oneDevice, body: DeviceChange },
    response: z.object({ device: Device }),
    errors: ["InvalidPublicKey", "DeviceNotFound", "PushTokenNotYours"],
    handler: async ({ params, query, body }, call) => {
      const publicKey = fromRegisteredKey(params.publicKey, query.algorithm);
      const { device } = await devices.updateDevice({ publicKey, ...body }, repeatable(call));
      return { device: toDevice(device) };
    },
  }),
  route({
    method: "delete",
    path: "/device/v1/devices/{publicKey}",
    operationId: "removeDevice",
    summary: "Ends the device's sessions and blocks its keys",
    token: "user",
    request: oneDevice,
    errors: ["InvalidPublicKey", "DeviceNotFound", "DeviceTooYoung", "AccountFrozen", "LastDevice", "ChainUnavailable"],
    handler: async ({ params, query }, call) => {
      const publicKey = fromRegisteredKey(params.publicKey, query.algorithm);
      await access.removeDevice({ publicKey }, repeatable(call));
    },
  }),
];
