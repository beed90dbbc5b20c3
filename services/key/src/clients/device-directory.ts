import type { Device } from "@countersign/proto/common/v1/types.ts";
import type { DevicesService } from "@countersign/proto/device/v1/devices.ts";
import { type CallContext, publicKeyFromProto, type RpcClient } from "@countersign/rpc";
import type { DeviceDirectory } from "../domain/ports.ts";

/** Returns the device service's list, read with the token of the call that is answered. */
export function deviceDirectory(
  client: Pick<RpcClient<DevicesService>, "listDevices">,
): DeviceDirectory<CallContext, Device> {
  return {
    async list(call) {
      const { devices } = await client.listDevices({}, { onBehalfOf: call });
      return devices.map((device) => ({ publicKey: publicKeyFromProto(device.publicKey), device }));
    },
  };
}
