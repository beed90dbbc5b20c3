import { AppError } from "@countersign/core";
import type { KeyAdditionsService } from "@countersign/proto/account/v1/key_additions.ts";
import { type Handler, requireToken } from "@countersign/rpc";
import type { verifyKeyAddition } from "../domain/verify-key-addition.ts";
import { transactionToProto } from "../messages.ts";
import { targetFrom } from "./key-additions.ts";

/** account.v1.KeyAdditions/VerifyKeyAddition: only for the token's own account. */
export const verifyKeyAdditionRpc =
  (
    command: ReturnType<typeof verifyKeyAddition>,
    transactionUrl: (chainName: string, id: string) => string,
  ): Handler<KeyAdditionsService["verifyKeyAddition"]> =>
  async (request, call) => {
    const target = targetFrom(request);
    if (target.accountId !== requireToken(call).accountId) throw new AppError("AccountNotFound");
    const { transactionId, notBefore, firstMessage } = request;
    if (!/^[0-9a-f]{64}$/.test(transactionId) || !notBefore) {
      throw new AppError("InvalidRequest", { fields: [{ pointer: "/txId", detail: "not a transaction id" }] });
    }
    const keyIndex = await command({ ...target, transactionId, notBefore, firstMessage }, call.signal);
    const url = transactionUrl(target.chainName, transactionId);
    return { transaction: transactionToProto(transactionId, target.chainName, url), keyIndex };
  };
