import { AppError } from "@countersign/core";
import type { ServerKeysService } from "@countersign/proto/signer/v1/server_keys.ts";
import { type Handlers, publicKeyToProto } from "@countersign/rpc";
import type { BoundServerKey, getServerKeyRotation } from "../domain/get-server-key-rotation.ts";
import type { rotateBinding } from "../domain/rotate-binding.ts";
import { requireAccountIds } from "./account-ids.ts";

const toWire = ({ version, publicKey, index = 0 }: Omit<BoundServerKey, "index"> & { index?: number }) => ({
  version,
  publicKey: publicKeyToProto(publicKey),
  keyIndex: index,
});

/** signer.v1.ServerKeys */
export const serverKeyRpcs = (
  describe: ReturnType<typeof getServerKeyRotation>,
  rotate: ReturnType<typeof rotateBinding>,
): Handlers<ServerKeysService> => ({
  async getServerKeyRotation({ accountId, chainName }) {
    requireAccountIds([accountId], "/accountId");
    const { next, retired, ...current } = await describe({ accountId, chainName });
    return { current: toWire(current), next: next && toWire(next), retired: retired.map(toWire) };
  },
  async rotateBinding({ accountId, chainName, serverKeyIndex, serverKeyVersion, replacesVersion }) {
    requireAccountIds([accountId], "/accountId");
    // An index is a 32 bit integer in the store.
    if (serverKeyIndex > 0x7fffffff) throw new AppError("InvalidRequest", { detail: "no key stands there" });
    const replaces = replacesVersion === 0 ? undefined : replacesVersion;
    await rotate({ accountId, chainName, serverKeyIndex, serverKeyVersion, replaces });
    return {};
  },
});
