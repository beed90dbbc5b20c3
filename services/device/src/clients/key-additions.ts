import { AppError } from "@countersign/core";
import { KeyAdditionStatus, type KeyAdditionsService } from "@countersign/proto/account/v1/key_additions.ts";
import type { TransactionReference } from "@countersign/proto/common/v1/types.ts";
import { publicKeyToProto, type RpcClient } from "@countersign/rpc";
import type { AttemptOutcome, KeyAdditions, UserCall } from "../domain/two-factor/ports.ts";
import type { ChainTransaction, KeyAddition } from "../domain/two-factor/two-factor.ts";

/** Short: without an answer the old message is shown. */
const PREPARE_TIMEOUT_MS = 2_000;
/** Less than the deadline of the calls that reconcile before they answer. */
const RECONCILE_TIMEOUT_MS = 2_000;
/** Of the sweeper, which waits for chains that answer slower than those calls may. */
export const SWEEP_TIMEOUT_MS = 8_000;
/** Of several reads of the chain, one after the other. */
const VERIFY_TIMEOUT_MS = 8_000;
/** Less than ATTEMPT_TIMEOUT_MS: no attempt is reconciled while this call may still be answered. */
const SUBMIT_TIMEOUT_MS = 10_000;

const additionOf = ({ accountId, chainName, userKey }: KeyAddition) => ({
  accountId,
  chainName,
  userKey: publicKeyToProto(userKey),
});

/** Returns the named transaction. Errors: Internal where the account service names no transaction. */
function transactionOf(reference: TransactionReference | undefined): ChainTransaction {
  if (!reference) throw new AppError("Internal", { cause: new Error("the account service named no transaction") });
  return { id: reference.id, refUrl: reference.refUrl };
}

/**
 * Passes the user's token on, but not the end of their connection: a committed attempt is finished anyway.
 */
const onBehalf = (call: UserCall) => ({ onBehalfOf: { ...call, signal: new AbortController().signal } });

/** Calls account.v1.KeyAdditions; `reconcile` waits for `reconcileTimeoutMs`. */
export function keyAdditions(
  client: RpcClient<KeyAdditionsService>,
  reconcileTimeoutMs = RECONCILE_TIMEOUT_MS,
): KeyAdditions {
  return {
    async prepare(addition, currentMessage) {
      const { recovering } = addition;
      const request = { ...additionOf(addition), recovering, currentMessage: Buffer.from(currentMessage) };
      const options = { deadlineMs: PREPARE_TIMEOUT_MS, idempotent: true };
      const { message } = await client.prepareKeyAddition(request, options);
      return message;
    },

    async submit({ attemptId, message, approverKey, signature, ...addition }, call) {
      const { transaction } = await client.submitKeyAddition(
        {
          ...additionOf(addition),
          attemptId,
          message: Buffer.from(message),
          approverKey: publicKeyToProto(approverKey),
          signature: Buffer.from(signature.signature, "hex"),
          extensionData: Buffer.from(signature.extensionData ?? "", "hex"),
        },
        { ...onBehalf(call), deadlineMs: SUBMIT_TIMEOUT_MS },
      );
      return transactionOf(transaction);
    },

    async reconcile(attempt): Promise<AttemptOutcome> {
      const options = { deadlineMs: reconcileTimeoutMs, idempotent: true };
      const { status, transaction, keyIndex } = await client.reconcileKeyAddition(attempt, options);
      switch (status) {
        case KeyAdditionStatus.KEY_ADDITION_STATUS_SUBMITTED:
          return { status: "submitted", transaction: transactionOf(transaction) };
        case KeyAdditionStatus.KEY_ADDITION_STATUS_SEALED:
          return { status: "sealed", transaction: transactionOf(transaction), keyIndex };
        case KeyAdditionStatus.KEY_ADDITION_STATUS_FAILED:
          return { status: "failed", transaction: transactionOf(transaction) };
        case KeyAdditionStatus.KEY_ADDITION_STATUS_ABANDONED:
          return { status: "abandoned" };
        default:
          throw new AppError("Internal", {
            cause: new Error(`the account service answered with the unknown status ${status}`),
          });
      }
    },

    async verify({ transactionId, notBefore, firstMessage, ...addition }, call) {
      const { transaction, keyIndex } = await client.verifyKeyAddition(
        { ...additionOf(addition), transactionId, notBefore, firstMessage: Buffer.from(firstMessage) },
        { ...onBehalf(call), deadlineMs: VERIFY_TIMEOUT_MS, idempotent: true },
      );
      return { transaction: transactionOf(transaction), keyIndex };
    },
  };
}
