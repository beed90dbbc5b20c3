import type { Device } from "@countersign/proto/common/v1/types.ts";
import type { RegisterRecoveryKeyRequest, RegisterRecoveryKeyResponse } from "@countersign/proto/key/v1/keys.ts";
import { type CallContext, requireToken } from "@countersign/rpc";
import { z } from "zod";
import type { listKeys } from "../domain/list-keys.ts";
import type { registerRecoveryKey } from "../domain/register-recovery-key.ts";
import { chainName, parseRequest, publicKey, text, toWireKey } from "./messages.ts";

const shape = z.object({
  publicKey: publicKey("/recoveryKey/publicKey"),
  cloudAccountName: text,
  chainName: z.union([z.literal(""), chainName]),
});

/** key.v1.Keys/RegisterRecoveryKey: answers the account's keys. */
export const registerRecoveryKeyRpc =
  (register: ReturnType<typeof registerRecoveryKey>, list: ReturnType<typeof listKeys<CallContext, Device>>) =>
  async (request: RegisterRecoveryKeyRequest, call: CallContext): Promise<RegisterRecoveryKeyResponse> => {
    const { accountId, appId } = requireToken(call);
    const { requestId } = call;
    await register({ ...parseRequest(shape, request), accountId, appId, requestId });
    const keys = await list({ accountId, session: call, includeRevoked: false, requestId });
    return { keys: keys.map(({ registration, device }) => toWireKey(registration, device)) };
  };
