import { AppError, invalidField } from "@countersign/core";
import { KeyAdditionStatus, type KeyAdditionsService } from "@countersign/proto/account/v1/key_additions.ts";
import { type Handlers, requireToken, validPublicKeyFromProto } from "@countersign/rpc";
import type { KeyAdditionState } from "../domain/key-additions/key-addition.ts";
import { type PrepareKeyAdditionOptions, prepareKeyAddition } from "../domain/key-additions/prepare-key-addition.ts";
import {
  type ReconcileKeyAdditionOptions,
  reconcileKeyAddition,
} from "../domain/key-additions/reconcile-key-addition.ts";
import { type SubmitKeyAdditionOptions, submitKeyAddition } from "../domain/key-additions/submit-key-addition.ts";
import { type VerifyKeyAdditionOptions, verifyKeyAddition } from "../domain/key-additions/verify-key-addition.ts";
import { type TransactionUrl, transactionToProto } from "../to-proto.ts";
import { fromChain, signatureFrom, targetFrom, transactionIdFrom, uuidFrom } from "./conversions.ts";

const STATUS = {
  submitted: KeyAdditionStatus.KEY_ADDITION_STATUS_SUBMITTED,
  sealed: KeyAdditionStatus.KEY_ADDITION_STATUS_SEALED,
  failed: KeyAdditionStatus.KEY_ADDITION_STATUS_FAILED,
  abandoned: KeyAdditionStatus.KEY_ADDITION_STATUS_ABANDONED,
} as const satisfies Record<KeyAdditionState, KeyAdditionStatus>;

export interface KeyAdditionsOptions
  extends PrepareKeyAdditionOptions,
    ReconcileKeyAdditionOptions,
    SubmitKeyAdditionOptions,
    VerifyKeyAdditionOptions {
  readonly transactionUrl: TransactionUrl;
}

/** Handles account.v1.KeyAdditions. */
export function keyAdditionsHandlers(options: KeyAdditionsOptions): Handlers<KeyAdditionsService> {
  const { transactionUrl } = options;
  const prepare = prepareKeyAddition(options);
  const submit = submitKeyAddition(options);
  const reconcile = reconcileKeyAddition(options);
  const verify = verifyKeyAddition(options);
  const transactionOf = (id: string, chainName: string) => transactionToProto(id, chainName, transactionUrl);
  return {
    async prepareKeyAddition(request, call) {
      const target = { ...targetFrom(request), recovering: request.recovering };
      return { message: Buffer.from(await fromChain(prepare(target, request.currentMessage, call.signal))) };
    },

    /** Only for the token's own account, with the token's own key as approver. */
    async submitKeyAddition(request, call) {
      const { accountId, accountKey, appId } = requireToken(call);
      const target = targetFrom(request);
      const approverKey = validPublicKeyFromProto(request.approverKey, "/approverKey");
      if (target.accountId !== accountId) throw new AppError("AccountNotFound");
      if (approverKey.algorithm !== accountKey.algorithm || approverKey.publicKey !== accountKey.publicKey)
        throw new AppError("InvalidSignature");
      const command = {
        ...target,
        attemptId: uuidFrom(request.attemptId, "/attemptId"),
        message: request.message,
        approverKey,
        signature: signatureFrom(request),
        appId,
      };
      const { transactionId } = await fromChain(submit(command, call, call.signal));
      return { transaction: transactionOf(transactionId, target.chainName) };
    },

    async reconcileKeyAddition(request, call) {
      const attemptId = uuidFrom(request.attemptId, "/attemptId");
      const accountId = uuidFrom(request.accountId, "/accountId");
      const addition = await fromChain(reconcile(attemptId, accountId, call.signal));
      if (!addition) throw new AppError("AccountNotFound");
      const { chainName, transactionId, keyIndex, state } = addition;
      return { status: STATUS[state], transaction: transactionOf(transactionId, chainName), keyIndex };
    },

    /** Only for the token's own account. */
    async verifyKeyAddition(request, call) {
      const target = targetFrom(request);
      const { accountId, scope } = requireToken(call);
      if (target.accountId !== accountId) throw new AppError("AccountNotFound");
      const { transactionId, notBefore, firstMessage } = request;
      transactionIdFrom(transactionId);
      if (!notBefore) throw invalidField("/notBefore", "is missing");
      const command = { ...target, transactionId, notBefore, firstMessage, byRecoveryKey: scope === "recover" };
      const keyIndex = await fromChain(verify(command, call.signal));
      return { transaction: transactionOf(transactionId, target.chainName), keyIndex };
    },
  };
}
