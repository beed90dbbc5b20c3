import type { VerifiedToken } from "@countersign/core";
import type { ServerKeysService } from "@countersign/proto/account/v1/server_keys.ts";
import { type Handlers, requireToken } from "@countersign/rpc";
import { type ListRotationsOptions, listServerKeyRotations } from "../domain/server-keys/list-server-key-rotations.ts";
import { type RotateServerKeyOptions, rotateServerKey } from "../domain/server-keys/rotate-server-key.ts";
import { waitForRotation } from "../domain/server-keys/wait-for-rotation.ts";
import { type TransactionUrl, transactionToProto } from "../to-proto.ts";
import { fromChain, signatureFrom } from "./conversions.ts";

export interface ServerKeysOptions extends ListRotationsOptions, RotateServerKeyOptions {
  /** Counts a request that reads the chain. Errors: RateLimited. */
  readsChain(by: VerifiedToken): void;
  readonly transactionUrl: TransactionUrl;
}

/** Handles account.v1.ServerKeys: for the token's own account, with the token's own key. */
export function serverKeysHandlers(options: ServerKeysOptions): Handlers<ServerKeysService> {
  const { transactionUrl } = options;
  const list = listServerKeyRotations(options);
  const rotate = rotateServerKey(options);
  const waitFor = waitForRotation(options.reconcile, options.logger);
  return {
    async listServerKeyRotations(_, call) {
      const token = requireToken(call);
      options.readsChain(token);
      const rotations = await fromChain(list(token.accountId, call.signal));
      return { rotations: rotations.map(({ chainName, message }) => ({ chainName, message: Buffer.from(message) })) };
    },
    async rotateServerKey(request, call) {
      const { accountId, accountKey: userKey, appId } = requireToken(call);
      const { chainName, message } = request;
      const command = { accountId, chainName, message, userKey, signature: signatureFrom(request), appId };
      const rotation = await fromChain(rotate(command, call, call.signal));
      const transaction = transactionToProto(rotation.transactionId, chainName, transactionUrl);
      return { transaction, done: await waitFor(rotation, call.signal) };
    },
  };
}
