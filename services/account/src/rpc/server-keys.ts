import type { ServerKeysService } from "@countersign/proto/account/v1/server_keys.ts";
import { type Handlers, requireToken } from "@countersign/rpc";
import type { listServerKeyRotations } from "../domain/server-keys/list-server-key-rotations.ts";
import type { rotateServerKey } from "../domain/server-keys/rotate-server-key.ts";
import type { ServerKeyRotation } from "../domain/server-keys/server-key-rotation.ts";
import { transactionToProto } from "../to-proto.ts";
import { fromChain, signatureFrom } from "./requests.ts";

/** account.v1.ServerKeys: for the token's own account, with the token's own key. */
export const serverKeysHandlers = (
  list: ReturnType<typeof listServerKeyRotations>,
  rotate: ReturnType<typeof rotateServerKey>,
  waitFor: (rotation: ServerKeyRotation, signal: AbortSignal) => Promise<boolean>,
  transactionUrl: (chainName: string, id: string) => string,
): Handlers<ServerKeysService> => ({
  async listServerKeyRotations(_, call) {
    const rotations = await fromChain(list(requireToken(call).accountId, call.signal));
    return { rotations: rotations.map(({ chainName, message }) => ({ chainName, message: Buffer.from(message) })) };
  },
  async rotateServerKey(request, call) {
    const { accountId, accountKey: userKey, appId } = requireToken(call);
    const { chainName, message } = request;
    const command = { accountId, chainName, message, userKey, signature: signatureFrom(request), appId };
    const rotation = await fromChain(rotate(command, call, call.signal));
    const { transactionId } = rotation;
    const done = await waitFor(rotation, call.signal);
    return {
      transaction: transactionToProto(transactionId, chainName, transactionUrl(chainName, transactionId)),
      done,
    };
  },
});
