import { AppError } from "@countersign/core";
import { KeyAdditionStatus, type KeyAdditionsService } from "@countersign/proto/account/v1/key_additions.ts";
import type { Handler } from "@countersign/rpc";
import type { KeyAdditionState } from "../domain/key-addition.ts";
import type { reconcileKeyAddition } from "../domain/reconcile-key-addition.ts";
import { transactionToProto } from "../messages.ts";
import { uuidFrom } from "./key-additions.ts";

const STATUS = {
  submitted: KeyAdditionStatus.KEY_ADDITION_STATUS_SUBMITTED,
  sealed: KeyAdditionStatus.KEY_ADDITION_STATUS_SEALED,
  failed: KeyAdditionStatus.KEY_ADDITION_STATUS_FAILED,
  abandoned: KeyAdditionStatus.KEY_ADDITION_STATUS_ABANDONED,
} as const satisfies Record<KeyAdditionState, KeyAdditionStatus>;

/** account.v1.KeyAdditions/ReconcileKeyAddition */
export const reconcileKeyAdditionRpc =
  (
    command: ReturnType<typeof reconcileKeyAddition>,
    transactionUrl: (chainName: string, id: string) => string,
  ): Handler<KeyAdditionsService["reconcileKeyAddition"]> =>
  async (request, call) => {
    const attemptId = uuidFrom(request.attemptId, "/attemptId");
    const addition = await command(attemptId, uuidFrom(request.accountId, "/accountId"), call.signal);
    if (!addition) throw new AppError("AccountNotFound");
    const { chainName, transactionId, keyIndex, state } = addition;
    const url = transactionId === "" ? "" : transactionUrl(chainName, transactionId);
    return { status: STATUS[state], transaction: transactionToProto(transactionId, chainName, url), keyIndex };
  };
