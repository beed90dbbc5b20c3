import { AppError } from "@countersign/core";
import type { KeyAdditionsService } from "@countersign/proto/account/v1/key_additions.ts";
import { type Handler, requireToken } from "@countersign/rpc";
import type { submitKeyAddition } from "../domain/submit-key-addition.ts";
import { transactionToProto } from "../messages.ts";
import { keyFrom, signatureFrom, targetFrom, uuidFrom } from "./key-additions.ts";

/** account.v1.KeyAdditions/SubmitKeyAddition: only for the token's own account, with the token's own key as approver. */
export const submitKeyAdditionRpc =
  (
    command: ReturnType<typeof submitKeyAddition>,
    transactionUrl: (chainName: string, id: string) => string,
  ): Handler<KeyAdditionsService["submitKeyAddition"]> =>
  async (request, call) => {
    const { accountId, accountKey, appId } = requireToken(call);
    const target = targetFrom(request);
    const approverKey = keyFrom(request.approverKey, "/approverKey");
    if (target.accountId !== accountId) throw new AppError("AccountNotFound");
    if (approverKey.algorithm !== accountKey.algorithm || approverKey.publicKey !== accountKey.publicKey)
      throw new AppError("InvalidSignature");
    const { transactionId } = await command(
      {
        ...target,
        attemptId: uuidFrom(request.attemptId, "/attemptId"),
        message: request.message,
        approverKey,
        signature: signatureFrom(request),
        appId,
      },
      call,
      call.signal,
    );
    return {
      transaction: transactionToProto(transactionId, target.chainName, transactionUrl(target.chainName, transactionId)),
    };
  };
