import type { ListDevicesRequest, ListDevicesResponse } from "@countersign/proto/device/v1/devices.ts";
import type { CallContext } from "@countersign/rpc";
import type { listDevices } from "../domain/devices/list-devices.ts";
import { sessionOf, toWireDevice } from "./messages.ts";

/** device.v1.Devices/ListDevices */
export const listDevicesRpc =
  (list: ReturnType<typeof listDevices>) =>
  async (_request: ListDevicesRequest, call: CallContext): Promise<ListDevicesResponse> => {
    const devices = await list({ accountId: sessionOf(call).accountId });
    return { devices: devices.map(toWireDevice) };
  };
