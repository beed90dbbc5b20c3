import type { PublicKey } from "@countersign/keys";
import type { AccountAccess, DevicesService } from "@countersign/proto/device/v1/devices.ts";
import type { KeysService } from "@countersign/proto/key/v1/keys.ts";
import { type CallContext, publicKeyFromProto, type RpcClient } from "@countersign/rpc";

/** key.v1.Keys/DescribeAccess; the device service reads the answer. */
export const describeAccess =
  (keys: RpcClient<KeysService>) =>
  async (accountId: string, { requestId, signal }: CallContext): Promise<AccountAccess> =>
    keys.describeAccess({ accountId }, { requestId, signal, idempotent: true });

/** device.v1.Devices/RemoveDevice with the user's own token; answers the removed device's identity key. */
export const removeFromDeviceList =
  (devices: RpcClient<DevicesService>) =>
  async (publicKey: Uint8Array, access: AccountAccess | undefined, call: CallContext): Promise<PublicKey> => {
    const request = { publicKey: Buffer.from(publicKey), access };
    const { device } = await devices.removeDevice(request, { onBehalfOf: call, idempotent: true });
    return publicKeyFromProto(device?.publicKey);
  };
