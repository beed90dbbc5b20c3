import { AppError } from "@countersign/core";
import type { ServerKeysService } from "@countersign/proto/signer/v1/server_keys.ts";
import { type Handlers, publicKeyToProto } from "@countersign/rpc";
import type { Commands } from "../domain/commands.ts";
import type { BoundServerKey } from "../domain/get-server-key-rotation.ts";
import { requireAccountIds } from "./conversions.ts";

/** The store keeps an index as a 32 bit integer. */
const MAX_KEY_INDEX = 0x7fffffff;

const keyToProto = ({ version, publicKey, index = 0 }: Omit<BoundServerKey, "index"> & { index?: number }) => ({
  version,
  publicKey: publicKeyToProto(publicKey),
  keyIndex: index,
});

/** Handles signer.v1.ServerKeys. */
export const serverKeysHandlers = (commands: Commands): Handlers<ServerKeysService> => ({
  async getServerKeyRotation({ accountId, chainName }) {
    requireAccountIds([accountId]);
    const { next, retired, ...current } = await commands.getServerKeyRotation({ accountId, chainName });
    return { current: keyToProto(current), next: next && keyToProto(next), retired: retired.map(keyToProto) };
  },

  async rotateBinding({ accountId, chainName, serverKeyIndex, serverKeyVersion, replacesVersion }) {
    requireAccountIds([accountId]);
    if (serverKeyIndex > MAX_KEY_INDEX)
      throw new AppError("InvalidRequest", { detail: `serverKeyIndex must be at most ${MAX_KEY_INDEX}` });
    const replaces = replacesVersion === 0 ? undefined : replacesVersion;
    await commands.rotateBinding({ accountId, chainName, serverKeyIndex, serverKeyVersion, replaces });
    return {};
  },
});
