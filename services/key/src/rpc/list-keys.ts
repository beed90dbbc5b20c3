import type { Device } from "@countersign/proto/common/v1/types.ts";
import type { ListKeysRequest, ListKeysResponse } from "@countersign/proto/key/v1/keys.ts";
import { type CallContext, requireToken } from "@countersign/rpc";
import type { listKeys } from "../domain/list-keys.ts";
import { toWireKey } from "./messages.ts";

/** key.v1.Keys/ListKeys */
export const listKeysRpc =
  (list: ReturnType<typeof listKeys<CallContext, Device>>) =>
  async (request: ListKeysRequest, call: CallContext): Promise<ListKeysResponse> => {
    const { includeRevoked } = request;
    const { accountId } = requireToken(call);
    const keys = await list({ accountId, session: call, includeRevoked, requestId: call.requestId });
    return { keys: keys.map(({ registration, device }) => toWireKey(registration, device)) };
  };
