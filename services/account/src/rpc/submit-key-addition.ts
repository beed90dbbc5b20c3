import { AppError } from "@countersign/errors";
import { bytesToHex, parseSignature, SignatureError } from "@countersign/keys";
import type { KeyAdditionsService, SubmitKeyAdditionRequest } from "@countersign/proto/account/v1/key_additions.ts";
import { type Handler, requireToken } from "@countersign/service-kit";
import type { ApproverSignature, submitKeyAddition } from "../domain/submit-key-addition.ts";
import { transactionToProto } from "../messages.ts";
import { keyFrom, targetFrom, uuidFrom } from "./key-additions.ts";

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

/** Of what the signer takes apart no more than this is ever a passkey's. */
const MAX_EXTENSION_BYTES = 4096;

function signatureFrom({ signature, extensionData }: SubmitKeyAdditionRequest): ApproverSignature {
  if (extensionData.length > MAX_EXTENSION_BYTES) throw new AppError("InvalidSignature");
  try {
    return {
      signature: bytesToHex(parseSignature(signature)),
      ...(extensionData.length > 0 && { extensionData: bytesToHex(extensionData) }),
    };
  } catch (error) {
    if (error instanceof SignatureError) throw new AppError("InvalidSignature");
    throw error;
  }
}
