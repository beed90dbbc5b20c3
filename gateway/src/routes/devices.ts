import { Algorithm, resource } from "@countersign/http-api/formats.ts";
import { DeviceChange, PublicKeyInput } from "@countersign/http-api/requests.ts";
import { Device } from "@countersign/http-api/resources.ts";
import { z } from "zod";
import type { Services } from "../clients.ts";
import { route, type UntaggedRoute } from "../http/route.ts";
import { toDevice } from "./mapping/device.ts";
import { fromRegisteredKey } from "./mapping/public-key.ts";
import { repeatable } from "./rpc.ts";

export const keyAlgorithm = Algorithm.optional().meta({
  description: "Needed for compressed points of secp256k1 only.",
});

/** A device in a path: its identity key. `algorithm` matters for compressed points only. */
const oneDevice = {
  params: z.object({ publicKey: PublicKeyInput.meta({ description: "The device's identity key, in hex." }) }),
  query: z.object({ algorithm: keyAlgorithm }),
};

export const deviceRoutes = ({ devices, access }: Services): UntaggedRoute[] => [
  route({
    method: "get",
    path: "/device/v1/devices",
    operationId: "listDevices",
    summary: "The account's devices, most recently used first",
    description: "Removed devices are not in the list.",
    token: "user",
    recover: true,
    response: resource("DevicesResponse", "The account's devices.", {
      devices: z.array(Device).meta({ description: "Most recently used first." }),
    }),
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
    description: "Absent members stay as they are. Only the device itself may change its push token.",
    token: "user",
    request: { ...oneDevice, body: DeviceChange },
    response: resource("DeviceResponse", "The device.", { device: Device }),
    errors: ["InvalidPublicKey", "DeviceNotFound", "PushTokenNotYours", "RateLimited"],
    beyondSchema: {
      ...Object.fromEntries(Object.keys(DeviceChange.shape).map((name) => [`/${name}`, "control characters"])),
      "/id": "another id than the device's own",
    },
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
    description:
      "The keys stay blocked, for signing in and for co-signing, until they are revoked on chain. A " +
      "device younger than 24 hours cannot remove an older one.",
    token: "user",
    request: oneDevice,
    errors: [
      "InvalidPublicKey",
      "DeviceNotFound",
      "DeviceTooYoung",
      "AccountFrozen",
      "LastDevice",
      "ChainUnavailable",
      "RateLimited",
    ],
    handler: async ({ params, query }, call) => {
      const publicKey = fromRegisteredKey(params.publicKey, query.algorithm);
      await access.removeDevice({ publicKey }, repeatable(call));
    },
  }),
];
