import type { KeyAlgorithm } from "@countersign/keys";
import type { RemoveDeviceRequest, RemoveDeviceResponse } from "@countersign/proto/auth/v1/access.ts";
import type {
  ListDevicesRequest,
  ListDevicesResponse,
  UpdateDeviceRequest,
  UpdateDeviceResponse,
} from "@countersign/proto/device/v1/devices.ts";
import { z } from "zod";
import { type Route, route } from "../http/route.ts";
import { text } from "../http/validation.ts";
import { deviceSchema, toDevice } from "./resources/device.ts";
import { algorithmSchema, guessPublicKey, publicKeySchema } from "./resources/public-key.ts";
import { DEADLINES, type Rpc } from "./rpc.ts";

/** What of device and auth these routes call. */
export interface DeviceClients {
  devices: {
    listDevices: Rpc<ListDevicesRequest, ListDevicesResponse>;
    updateDevice: Rpc<UpdateDeviceRequest, UpdateDeviceResponse>;
  };
  access: { removeDevice: Rpc<RemoveDeviceRequest, RemoveDeviceResponse> };
}

/** A device in a path: its identity key. `algorithm` matters for compressed points only. */
const oneDevice = {
  params: z.object({ publicKey: publicKeySchema }),
  query: z.object({ algorithm: algorithmSchema.optional() }),
};

const updateBody = z.object({
  id: text().optional(),
  sdkVersion: text().optional(),
  pushToken: text(4_096).optional(),
  name: text().optional(),
  osName: text().optional(),
  osVersion: text().optional(),
  deviceManufacturer: text().optional(),
  deviceModel: text().optional(),
  lang: text().optional(),
});

/** The devices of an account. */
export function deviceRoutes({ devices, access }: DeviceClients): Route[] {
  return [
    route({
      method: "get",
      path: "/device/v1/devices",
      operationId: "listDevices",
      summary: "The account's devices, most recently used first",
      token: "user",
      recover: true,
      response: z.object({ devices: z.array(deviceSchema) }),
      handler: async (_input, call) => {
        const answer = await devices.listDevices({}, { call, deadlineMs: DEADLINES.unary });
        return { devices: answer.devices.map(toDevice) };
      },
    }),
    route({
      method: "put",
      path: "/device/v1/devices/{publicKey}",
      operationId: "updateDevice",
      summary: "Changes what is present in the body",
      token: "user",
      request: { ...oneDevice, body: updateBody },
      response: z.object({ device: deviceSchema }),
      errors: ["InvalidPublicKey", "DeviceNotFound", "PushTokenNotYours"],
      handler: async ({ params, query, body }, call) => {
        const publicKey = keyNamed(params.publicKey, query.algorithm);
        const answer = await devices.updateDevice({ publicKey, ...body }, { call, deadlineMs: DEADLINES.unary });
        return { device: toDevice(answer.device) };
      },
    }),
    route({
      method: "delete",
      path: "/device/v1/devices/{publicKey}",
      operationId: "removeDevice",
      summary: "Ends the device's sessions and blocks its keys",
      token: "user",
      request: oneDevice,
      errors: [
        "InvalidPublicKey",
        "DeviceNotFound",
        "DeviceTooYoung",
        "AccountFrozen",
        "LastDevice",
        "ChainUnavailable",
      ],
      handler: async ({ params, query }, call) => {
        const publicKey = keyNamed(params.publicKey, query.algorithm);
        await access.removeDevice({ publicKey }, { call, deadlineMs: DEADLINES.unary });
        return undefined;
      },
    }),
  ];
}

/** A registered key may be named without its algorithm. */
const keyNamed = (hex: string, algorithm: KeyAlgorithm | undefined): Buffer =>
  guessPublicKey(hex, algorithm, ["ES256", "ES256K"], "/publicKey").bytes;
