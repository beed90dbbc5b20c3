import type { PublicKey } from "@countersign/keys";
import type { DevicesService } from "@countersign/proto/device/v1/devices.ts";
import { type CallContext, publicKeyFromProto, type RpcClient } from "@countersign/service-kit";

/** device.v1.Devices/RemoveDevice with the user's own token; answers the removed device's identity key. */
export const removeFromDeviceList =
  (devices: RpcClient<DevicesService>) =>
  async (publicKey: Uint8Array, call: CallContext): Promise<PublicKey> => {
    const { device } = await devices.removeDevice({ publicKey: Buffer.from(publicKey) }, { call, idempotent: true });
    return publicKeyFromProto(device?.publicKey);
  };
