import type { RegisterKeyRequest, RegisterKeyResponse } from "@countersign/proto/key/v1/keys.ts";
import type { CallContext } from "@countersign/rpc";
import { z } from "zod";
import type { registerKey } from "../domain/register-key.ts";
import { chainName, keyOrigin, parseRequest, publicKey, text, toWireKey, userKeyType, uuid } from "./messages.ts";

const shape = z.object({
  accountId: uuid,
  chainName,
  app: z.object({ appId: text.min(1, "is empty"), appName: text }),
  type: userKeyType,
  accountKey: publicKey("/accountKey"),
  deviceKey: publicKey("/deviceKey"),
  keyIndex: z.int32().nonnegative(),
  origin: keyOrigin,
  name: text,
});

/** key.v1.Keys/RegisterKey */
export const registerKeyRpc =
  (register: ReturnType<typeof registerKey>) =>
  async (request: RegisterKeyRequest, call: CallContext): Promise<RegisterKeyResponse> => {
    const command = parseRequest(shape, request);
    return { key: toWireKey(await register({ ...command, requestId: call.requestId }), undefined) };
  };
